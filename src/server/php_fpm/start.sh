# Starts PHP-FPM ($1) with the app's own settings ($2), as own.awk in the folder ($3) passes them on,
# and overlay.conf after them.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
awk -f "$3/own.awk" "$2" > "$3/php-fpm.conf"
cat "$3/overlay.conf" >> "$3/php-fpm.conf"
exec "$1" --nodaemonize --allow-to-run-as-root --fpm-config "$3/php-fpm.conf"
