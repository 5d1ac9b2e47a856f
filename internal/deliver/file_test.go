package deliver_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paidonce/paidonce/internal/deliver"
)

func TestParse(t *testing.T) {
	t.Parallel()

	const one, two = `{"id":"evt_1","type":"invoice.paid"}`, `{ "id" : "evt_2", "type": "charge.refunded" }`
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"given one event and a final newline when parsed then the body is the file byte for byte": {one + "\r\n", []string{one + "\r\n"}},
		"given one event over several lines when parsed then it is one body":                      {"{\n \"id\":\n \"evt_1\"\n}\n", []string{"{\n \"id\":\n \"evt_1\"\n}\n"}},
		"given one event a line when parsed then each is a body in order":                         {one + "\n" + two + "\n", []string{one, two}},
		"given an array when parsed then each element is a body with its own spacing":             {"[" + one + ",\n  " + two + "]", []string{one, two}},
		"given something that is no json when parsed then it is one body as it is":                {`{"id":`, []string{`{"id":`}},
		"given a broken second line when parsed then nothing is cut out of the file":              {one + "\n{", []string{one + "\n{"}},
		"given a json value that is no event when parsed then it is one body":                     {`null`, []string{`null`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := deliver.Parse([]byte(tc.in))
			require.NoError(t, err)
			var got []string
			for _, e := range events {
				got = append(got, string(e.Body))
			}
			require.Equal(t, tc.want, got)
		})
	}

	for name, in := range map[string]string{
		"given an empty file when parsed then it says so":  " \n",
		"given an empty array when parsed then it says so": "[]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := deliver.Parse([]byte(in))
			require.ErrorIs(t, err, deliver.ErrNoEvents)
		})
	}

	t.Run("given an event when parsed then its id and type are known", func(t *testing.T) {
		t.Parallel()
		events, err := deliver.Parse([]byte(one))
		require.NoError(t, err)
		require.Equal(t, "evt_1", events[0].ID)
		require.Equal(t, "invoice.paid", events[0].Type)
	})
}

func TestWithFreshID(t *testing.T) {
	t.Parallel()

	t.Run("given ids deeper inside when refreshed then only the event's own id changes", func(t *testing.T) {
		t.Parallel()
		body := "{\"data\": {\"object\": {\"id\": \"in_1\"}},\n  \"id\" :  \"evt_1\" , \"n\": 1.0, \"s\": \"\\u00e9\"}\n"
		got, err := deliver.WithFreshID(deliver.Event{ID: "evt_1", Body: []byte(body)})
		require.NoError(t, err)
		require.Regexp(t, `^evt_[0-9a-f]{24}$`, got.ID)
		require.Equal(t, "{\"data\": {\"object\": {\"id\": \"in_1\"}},\n  \"id\" :  \""+got.ID+"\" , \"n\": 1.0, \"s\": \"\\u00e9\"}\n", string(got.Body))
		require.True(t, json.Valid(got.Body))
	})

	t.Run("given an id twice when refreshed then the one that counts is replaced", func(t *testing.T) {
		t.Parallel()
		got, err := deliver.WithFreshID(deliver.Event{Body: []byte(`{"id":"evt_a","id":"evt_b"}`)})
		require.NoError(t, err)
		require.Equal(t, `{"id":"evt_a","id":"`+got.ID+`"}`, string(got.Body))
	})

	t.Run("given one event twice when refreshed then the ids differ and the original is untouched", func(t *testing.T) {
		t.Parallel()
		e := deliver.Event{Body: []byte(`{"id":"evt_1"}`)}
		a, err := deliver.WithFreshID(e)
		require.NoError(t, err)
		b, err := deliver.WithFreshID(e)
		require.NoError(t, err)
		require.NotEqual(t, a.ID, b.ID)
		require.Equal(t, `{"id":"evt_1"}`, string(e.Body))
	})

	for name, body := range map[string]string{
		"given no id when refreshed then it is refused":            `{"type":"x","data":{"id":"in_1"}}`,
		"given an id that is a number when refreshed then refused": `{"id":1}`,
		"given no object when refreshed then it is refused":        `["evt_1"]`,
		"given no json when refreshed then it is refused":          `{"id"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := deliver.WithFreshID(deliver.Event{Body: []byte(body)})
			require.ErrorIs(t, err, deliver.ErrNoID)
		})
	}
}
