#!/usr/bin/env bash
# Installs what this machine lacks, and does nothing where nothing is missing.
#   install.sh postgres   for the demo: a Postgres server
#   install.sh tools      for the tests: that, pgTAP, plpgsql_check, pgbouncer, a C compiler, npm
# It starts no service and creates no database cluster.
set -euo pipefail

oldest=15
self="$(cd "$(dirname "$0")" && pwd)/$(basename "$0")"
PATH="$PATH:/usr/sbin:/sbin"

# The major version of the Postgres that paidonce will find, empty if there is none.
postgres_version() {
    local bin on_path
    on_path=$(readlink -f "$(command -v initdb || echo /)")
    for bin in "${on_path%/initdb}" $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin \
        /usr/local/opt/postgresql@*/bin /Applications/Postgres.app/Contents/Versions/*/bin 2>/dev/null | sort -rV); do
        if [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ]; then
            "$bin/postgres" --version | sed -nE 's/.*\(PostgreSQL\) ([0-9]+).*/\1/p'
        fi
    done | awk -v oldest="$oldest" '$1 >= oldest { print; exit }'
}

# Runs as root: no service may start, no cluster may be created, and both rules
# are gone afterwards.
apt_install() {
    local policy=/usr/sbin/policy-rc.d rule=/etc/postgresql-common/createcluster.d/paidonce.conf
    undo=("$rule")
    trap 'rm -f "${undo[@]}"' EXIT
    mkdir -p "$(dirname "$rule")"
    echo 'create_main_cluster = false' >"$rule"
    if [ ! -e "$policy" ]; then
        undo+=("$policy")
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q -o DPkg::Lock::Timeout=300 update
    apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
    for package in "$@"; do
        if [ "$package" = pgbouncer ] && [ -d /run/systemd/system ]; then
            systemctl --quiet disable pgbouncer # the tests start their own
        fi
    done
}

# Installs packages with what the machine has, as root or through sudo.
install() {
    echo "missing: $*"
    if [ "$(uname)" = Darwin ]; then
        brew install "$@"
    elif ! command -v apt-get >/dev/null; then
        fail "there is no apt-get here: install them with your system's own tool"
    elif [ "$(id -u)" = 0 ]; then
        bash "$self" apt "$@"
    elif sudo -n true 2>/dev/null; then
        sudo -n bash "$self" apt "$@"
    else
        fail "installing that needs root: run this, then try again:
    sudo $self $goal
or, where there is no sudo:
    su -c '$self $goal'"
    fi
}

fail() {
    echo "$*" >&2
    exit 1
}

goal="${1:-}"
case "$goal" in
apt)
    shift
    apt_install "$@"
    exit
    ;;
postgres | tools) ;;
*) fail "usage: install.sh postgres | tools" ;;
esac

mac=
[ "$(uname)" = Darwin ] && mac=1

if [ -z "$(postgres_version)" ]; then
    if [ -n "$mac" ]; then install postgresql@17; else install postgresql; fi
    [ -n "$(postgres_version)" ] || fail "the Postgres that was installed is older than $oldest: install $oldest or newer from the PostgreSQL project's packages"
fi
[ "$goal" = tools ] || exit 0

missing=()
if [ -z "$mac" ]; then
    version=$(postgres_version)
    if [ -d "/usr/share/postgresql/$version/extension" ]; then
        [ -e "/usr/share/postgresql/$version/extension/pgtap.control" ] || missing+=("postgresql-$version-pgtap")
        [ -e "/usr/share/postgresql/$version/extension/plpgsql_check.control" ] || missing+=("postgresql-$version-plpgsql-check")
    fi
    command -v pg_prove >/dev/null || missing+=(libtap-parser-sourcehandler-pgtap-perl)
    command -v gcc >/dev/null || missing+=(gcc)
    [ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
fi
command -v pgbouncer >/dev/null || missing+=(pgbouncer)
[ ${#missing[@]} = 0 ] || install "${missing[@]}"

# Only the tests of the Supabase CLI need npm, and they say so when they skip.
if ! command -v npm >/dev/null; then
    (if [ -n "$mac" ]; then install node; else install nodejs npm; fi) ||
        echo "npm: skipped: it could not be installed, so the tests with the Supabase CLI will be skipped too"
fi
