# Starts kamal-proxy on port $2 in front of port $3, with its files in the folder $1. It answers 404
# until it is told of a server, so a first run of it, on any port, is told; the second one knows from
# its file. The first one waits until the page $4 answers 2xx: begun before its server is there, the
# second may take it for broken for good, and answer 503 to everything. An app that answers its health
# checks otherwise, such as with a redirect to https, is there by then. What it logs of each request is
# written, as where it serves users, and not kept.
mkdir -p "$1"
rm -f "$1/kamal-proxy.sock"
kamal-proxy run --http-port 0 --https-port 0 >/dev/null &
tries=0
until [ -S "$1/kamal-proxy.sock" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 200 ] || { echo "kamal-proxy did not come up" >&2; exit 1; }
  sleep 0.05
done
kamal-proxy deploy app --target "127.0.0.1:$3" --health-check-path "$4" \
  --health-check-interval 100ms --deploy-timeout 10s >/dev/null 2>&1 ||
  kamal-proxy deploy app --force --target "127.0.0.1:$3"
kill "$!"
wait "$!" || :
exec kamal-proxy run --http-port "$2" --https-port 0 >/dev/null
