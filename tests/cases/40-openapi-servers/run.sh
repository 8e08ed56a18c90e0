. "$(dirname "$0")/../lib/common.sh"
doc() { cat > $1.yaml <<T
openapi: 3.0.3
info: { title: t, version: "1" }
$2
paths:
  /items:
    get: { operationId: items, $3 responses: { "200": { description: ok } } }
T
}
doc version 'servers: [{ url: "https://api.shop.example/{version}", variables: { version: { default: v2 } } }]'
doc scheme 'servers: [{ url: "{protocol}://{host}/api/v3", variables: { protocol: { default: https }, host: { default: shop.example } } }]'
doc region 'servers: [{ url: "https://{region}.shop.example/v1", variables: { region: { default: eu } } }]'
doc relative 'servers: [{ url: "api/v1" }]'
doc slash 'servers: [{ url: "/api/v1/" }]'
doc own '' 'servers: [{ url: "https://files.shop.example/upload/v1" }],'
want() { case $1 in version) echo /v2/items;; scheme) echo /api/v3/items;; region) echo /v1/items;; relative|slash) echo /api/v1/items;; own) echo /upload/v1/items;; esac; }
for name in version scheme region relative slash own; do
  "$LS" workloads from-openapi $name.yaml -o site-$name > out 2>&1; rc=$?
  path=$(sed -n 's/^path = "\(.*\)"/\1/p' site-$name/workload.toml 2>/dev/null | head -1); echo "--- $name: exit $rc, path $path, wanted $(want $name)"; cat out
  [ "$path" = "$(want $name)" ] || wrong "$name: all requests go to $path instead of $(want $name)"
  [ $rc = 0 ] && { "$LS" workloads check site-$name > out 2>&1 || { cat out; wrong "$name: the written workload does not load"; }; }
  grep -q "{" out && grep -i "target\|http" out
done
finish
