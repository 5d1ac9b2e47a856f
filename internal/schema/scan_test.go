package schema

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		sql  string
		want []string
	}{
		{
			"given a semicolon in a dollar body when scanned then the function is one statement",
			"create function f() returns void language plpgsql as $body$ begin perform 1; perform $$a;b$$; end $body$; select 2;",
			[]string{"create function f() returns void language plpgsql as $body$ begin perform 1; perform $$a;b$$; end $body$", "select 2"},
		},
		{
			"given semicolons in quotes when scanned then they split nothing",
			`select 'a;''b', ";""c", E'\';'; select 2`,
			[]string{`select 'a;''b', ";""c", E'\';'`, "select 2"},
		},
		{
			"given a quote after a name that ends in e when scanned then a backslash is only a backslash",
			`select type'\'; select 2`,
			[]string{`select type'\'`, "select 2"},
		},
		{
			"given comments when scanned then they belong to no statement",
			"-- one; two\n/* a /* nested; */ b; */ select 1; -- end;",
			[]string{"select 1"},
		},
		{
			"given parameters and casts when scanned then a dollar sign opens no body",
			"select $1::jsonb, a$b; select 2",
			[]string{"select $1::jsonb, a$b", "select 2"},
		},
		{
			"given a rule with several actions when scanned then the semicolon inside parentheses splits nothing",
			"do something (select 1; select 2); select 3",
			[]string{"do something (select 1; select 2)", "select 3"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			statements, err := scan(test.sql)
			require.NoError(t, err)
			var got []string
			for _, s := range statements {
				got = append(got, s.text)
			}
			require.Equal(t, test.want, got)
		})
	}

	broken := []struct{ name, sql, want string }{
		{"given an open quote when scanned then the line is named", "select 1;\nselect 'a", "line 2: a quote is never closed"},
		{"given an open body when scanned then the line is named", "do $$ begin", "line 1: a dollar quote is never closed"},
		{"given an open comment when scanned then the line is named", "/* /* */", "line 1: a block comment is never closed"},
		{
			"given a standard body when scanned then it is refused", "create function f() returns int begin atomic select 1; end",
			"line 1: begin atomic bodies are not supported, write the body in $$",
		},
	}
	for _, test := range broken {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := scan(test.sql)
			require.EqualError(t, err, test.want)
		})
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		sql  string
		want string
	}{
		{
			"given defaults and modes when a function is dropped then only what identifies it is named",
			"create or replace function paidonce.f(a text default 'x, y', inout b numeric(10, 2) = 1, variadic c int[] default '{}') returns text language sql as $$ $$",
			"drop function if exists paidonce.f(a text, inout b numeric(10, 2), variadic c int[]);\n",
		},
		{
			"given no parameters when a function is dropped then its list is empty",
			"CREATE FUNCTION Paidonce.F() RETURNS trigger AS $$ $$ LANGUAGE plpgsql",
			"drop function if exists paidonce.f();\n",
		},
		{
			"given a policy when it is dropped then its table is named",
			`create policy "one; two" on paidonce.t for select using (true)`,
			"drop policy if exists \"one; two\" on paidonce.t;\n",
		},
		{
			"given two policies of one name when they are dropped then each is named with its table",
			"create policy p on t using (true); create policy p on u using (true);",
			"drop policy if exists p on t;\ndrop policy if exists p on u;\n",
		},
		{
			"given a trigger when it is dropped then its table is named",
			"create or replace trigger touch before insert or update of a on paidonce.t for each row execute function paidonce.f()",
			"drop trigger if exists touch on paidonce.t;\n",
		},
		{
			"given an index when it is dropped then the schema of its table is named",
			"create unique index if not exists i on only paidonce.t (a) where b",
			"drop index if exists paidonce.i;\n",
		},
		{
			"given a view when it is dropped then it is dropped as one",
			"create or replace view paidonce.v with (security_invoker = on) as select 1",
			"drop view if exists paidonce.v;\n",
		},
		{
			"given a materialized view when it is dropped then it is dropped as one",
			"create materialized view if not exists paidonce.m as select 1",
			"drop materialized view if exists paidonce.m;\n",
		},
		{
			"given a table made twice when it is dropped then it is dropped once",
			"create table if not exists paidonce.t (a int); create table if not exists paidonce.t (a int)",
			"drop table if exists paidonce.t;\n",
		},
		{
			"given schemas, roles and extensions when the way back is written then they stay",
			"create schema if not exists paidonce; create role r; create extension if not exists pgcrypto",
			"",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, err := objects(Section{Path: "sql/1.sql", Text: test.sql})
			require.NoError(t, err)
			var got string
			for _, o := range found {
				got += o.drop()
			}
			require.Equal(t, test.want, got)
		})
	}

	t.Run("given a kind of object nobody thought of when the way back is written then it is refused", func(t *testing.T) {
		t.Parallel()
		_, err := objects(Section{Path: "sql/1.sql", Text: "create publication p for all tables"})
		require.EqualError(t, err, `sql/1.sql: no rule how to drop what "create publication p for all tables" creates`)
	})

	t.Run("given another layout of the same declaration when heads are compared then they are equal", func(t *testing.T) {
		t.Parallel()
		one, err := objects(Section{Text: "create function f(a text,b int default 1) returns setof text volatile language sql as $$ $$"})
		require.NoError(t, err)
		two, err := objects(Section{Text: "create function f(\n    a text,\n    b int default 1\n)\nreturns setof text\nlanguage sql\nas $$ other $$"})
		require.NoError(t, err)
		require.Equal(t, one, two)
	})

	t.Run("given another return type when heads are compared then they differ", func(t *testing.T) {
		t.Parallel()
		one, err := objects(Section{Text: "create function f() returns table (language text) language sql as $$ $$"})
		require.NoError(t, err)
		two, err := objects(Section{Text: "create function f() returns table (language int) language sql as $$ $$"})
		require.NoError(t, err)
		require.NotEqual(t, one, two)
		require.Equal(t, one[0].key(), two[0].key())
	})
}
