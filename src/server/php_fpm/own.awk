# Passes on the app's own PHP-FPM settings, those of the first pool and those for all, but for what
# says where it listens, what it writes, who it runs as and how many workers it has. Each line stays
# where it is, so that an error names its number.
{ line = $0; sub(/^[ \t]+/, "", line); sub(/[ \t\r]+$/, "", line) }

line ~ /^\[/ {
    section = line
    sub(/^\[[ \t]*/, "", section)
    sub(/[ \t]*\].*$/, "", section)
    if (section == "global") {
        is_left_out = 0
        print "[global]"
        next
    }
    if (pool == "") pool = section
    is_left_out = section != pool
    print is_left_out ? "" : "[app]"
    next
}

{ name = line; sub(/[ \t]*=.*$/, "", name) }

is_left_out ||
name ~ /^(include|prefix|user|group|chroot|chdir|apparmor_hat|daemonize|pid|slowlog)$/ ||
name ~ /^(listen|listen\.(owner|group|mode|acl_users|acl_groups|allowed_clients))$/ ||
name ~ /^(error_log|log_level|syslog\..*|access\..*|request_slowlog_.*)$/ ||
name ~ /^(process\.max|process\.priority|systemd_interval|clear_env)$/ ||
name ~ /^(catch_workers_output|decorate_workers_output)$/ ||
name ~ /^(pm|pm\.(max_children|start_servers|min_spare_servers|max_spare_servers))$/ ||
name ~ /^pm\.(max_spawn_rate|process_idle_timeout|status_listen)$/ ||
name ~ /^php_(admin_)?(value|flag)\[(error_log|log_errors|display_errors|fastcgi\.logging)\]$/ {
    print ""
    next
}

{ print }
