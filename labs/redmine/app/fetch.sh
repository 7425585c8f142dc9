#!/bin/sh
# Redmine 5.0.14 into this folder, with our files over its own. Needs git and a network.
set -eu
repository=https://github.com/redmine/redmine
commit=43911c03980fb09017b76619c79f7c52f05868c9
[ -e .git ] || git init -q .
git fetch -q --depth 1 "$repository" "$commit"
git checkout -q -f FETCH_HEAD
cp -R ours/. .
