#!/usr/bin/env bash
# PostgreSQL with pgvector for the tests that need a real server, on Debian and its kin. Does nothing where both are
# there. Packages come from the machine's own apt sources; pgvector, which older releases of Debian do not package, is
# built from the source package of a later release at the same mirror. Needs root, or a sudo that does not ask.
set -euo pipefail

say() { echo "setup:pgvector: $*"; }
skip() {
  say "skipped: $*"
  exit 0
}

server_bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1; }
has_vector() { [ -n "$(server_bin)" ] && [ -f "$("$(server_bin)/pg_config" --sharedir)/extension/vector.control" ]; }

if [ -n "$(server_bin)" ] && [ -x "$(server_bin)/pg_config" ] && has_vector; then
  say "already there ($(server_bin))"
  exit 0
fi
command -v apt-get >/dev/null || skip "there is no apt-get here"
root=()
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2>/dev/null || skip "needs root"
  root=(sudo -n)
fi
install() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${root[@]}" apt-get update -q >/dev/null || skip "apt-get update failed"
[ -n "$(server_bin)" ] || install postgresql || skip "PostgreSQL could not be installed"
version=$(basename "$(dirname "$(server_bin)")")

if install "postgresql-$version-pgvector" 2>/dev/null; then
  say "pgvector of the distribution is installed for PostgreSQL $version"
  exit 0
fi

say "building pgvector for PostgreSQL $version"
install "postgresql-server-dev-$version" build-essential dpkg-dev || skip "the headers of PostgreSQL could not be installed"

# The mirror of this machine, whatever it is, with the suite that has the source package.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 2>/dev/null | sort -u | head -1)
[ -n "$mirror" ] || skip "no Debian mirror in the apt sources"
mkdir -p "$work/lists/partial" "$work/source"
printf 'deb-src %s trixie main\n' "$mirror" >"$work/sources.list"
own=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
  -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=" -o APT::Sandbox::User=root)
"${root[@]}" apt-get "${own[@]}" update -q >/dev/null || skip "the sources of trixie are not at $mirror"
(cd "$work/source" && "${root[@]}" apt-get "${own[@]}" source -q --only-source pgvector >/dev/null) ||
  skip "the source package of pgvector could not be fetched"
folder=$(find "$work/source" -maxdepth 1 -type d -name 'pgvector-*' | head -1)
"${root[@]}" make -s -C "$folder" -j2 OPTFLAGS="" PG_CONFIG="$(server_bin)/pg_config" >"$work/make.log" 2>&1 ||
  { tail -20 "$work/make.log"; skip "pgvector did not compile"; }
"${root[@]}" make -s -C "$folder" install PG_CONFIG="$(server_bin)/pg_config" >>"$work/make.log" 2>&1
has_vector || { tail -20 "$work/make.log"; say "failed: pgvector was built but is not where PostgreSQL looks"; exit 1; }
say "pgvector is installed for PostgreSQL $version"
