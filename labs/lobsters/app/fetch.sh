#!/bin/sh
# Lobsters as it was in July 2022, the last one on Rails 6.1, into this folder, with three gems that
# Debian doesn't have, and our files over its own. Needs git and a network.
set -eu

fetch() { # FOLDER REPOSITORY COMMIT
    mkdir -p "$1"
    [ -e "$1/.git" ] || git init -q "$1"
    git -C "$1" fetch -q --depth 1 "https://github.com/$2" "$3"
    git -C "$1" checkout -q -f FETCH_HEAD
}

fetch . lobsters/lobsters 48b23c148e00a92b6d236f856d6b8c6e29b3422c
fetch vendor/scenic scenic-views/scenic 1ffb3cdec1d19e76b034a1b349fbacd6e66b9430
fetch vendor/scenic-mysql_adapter EmpaticoOrg/scenic-mysql_adapter d0ce1bd226ca17dfbca2f89dd9eec552eacce148
fetch vendor/activerecord-typedstore byroot/activerecord-typedstore 779c48937defd9c2c81b19190d93d4200f2265d8
cp -R ours/. .
# It names versions that Debian does not have.
rm -f Gemfile.lock
# Of gems that are left out: a profiler for administrators, the sitemap, checks of its style, and what
# makes JavaScript smaller.
rm -f config/initializers/mini_profiler.rb config/sitemap.rb extras/prohibit_*.rb
sed -i '/Uglifier/d' config/environments/production.rb
# Plain HTTP would be answered with a redirect.
sed -i 's/config.force_ssl = true/config.force_ssl = false/' config/environments/production.rb
