# Prints PHP-FPM's ($1) version, the variables that the app's own settings ($2, may be missing) or
# else this machine's name, and after a mark those lines of them that are read: of all that is printed
# the end alone is kept, and a pool's file as packages have it is 20 KB of comments.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
"$1" --version
version=$("$1" --version | sed -n 's/^PHP \([0-9]*\.[0-9]*\).*/\1/p')
if [ -n "${2-}" ]; then
    set -- "$2"
else
    set --
    for file in "/etc/php/$version/fpm/pool.d"/*.conf /usr/local/etc/php-fpm.d/*.conf; do
        [ ! -r "$file" ] || set -- "$@" "$file"
    done
    for file; do echo "sweetspot-file $file"; done
fi
[ $# -gt 0 ] || exit 0
awk '/^[ \t]*pm\.max_children[ \t]*=/ && match($0, /\$\{[A-Za-z0-9_]+\}/) {
    name = substr($0, RSTART + 2, RLENGTH - 3)
    if (name in ENVIRON) print "sweetspot-variable " name "=" ENVIRON[name]
}' "$@"
echo "sweetspot-settings"
awk '/^[ \t]*(\[|(pm|listen|user|request_terminate_timeout)[ \t]*=)/ ||
    /^[ \t]*pm\.max_(children|requests)[ \t]*=/' "$@"
