. "$(dirname "$0")/../lib/common.sh"
cat > s.py <<'P'
import srv
srv.run(lambda r: srv.page("{}", kind="application/json"))
P
serve s.py
cat > a.yaml <<'T'
openapi: 3.1.0
info: { title: t, version: "1" }
paths:
  /named/{id}:
    post:
      operationId: named
      parameters:
        - { name: id, in: path, required: true, schema: { type: string }, examples: { one: { value: A-17 } } }
        - { name: tag, in: query, required: true, schema: { type: string }, examples: { one: { value: red } } }
      requestBody: { content: { application/json: { schema: { type: object, properties: { sku: { type: string } } }, examples: { good: { value: { sku: K-9 } } } } } }
      responses: { "200": { description: ok } }
  /readonly:
    post:
      operationId: readonly
      requestBody: { content: { application/json: { schema: { type: object, required: [name], properties: { id: { type: integer, readOnly: true }, created: { type: string, format: date-time, readOnly: true }, name: { type: string, example: ann } } } } } }
      responses: { "200": { description: ok } }
  /pets:
    post:
      operationId: pet
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
      responses: { "200": { description: ok } }
  /search:
    get:
      operationId: search
      parameters:
        - { name: ids, in: query, required: true, schema: { type: array, items: { type: integer } }, example: [3, 4] }
        - { name: filter, in: query, required: true, style: deepObject, explode: true, schema: { type: object, properties: { color: { type: string, example: red } } } }
        - { name: debug, in: cookie, required: true, schema: { type: string, example: "1" } }
      responses: { "200": { description: ok } }
  /number:
    get:
      operationId: number
      parameters: [{ name: t, in: query, required: true, schema: { type: integer, minimum: -40, maximum: -10 } }, { name: p, in: query, required: true, schema: { type: number, minimum: 0.2, maximum: 0.8 } }, { name: m, in: query, required: true, schema: { type: integer, multipleOf: 10 } }]
      responses: { "200": { description: ok } }
components:
  schemas:
    Pet:
      oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }]
      discriminator: { propertyName: kind, mapping: { cat: "#/components/schemas/Cat", dog: "#/components/schemas/Dog" } }
    Cat: { type: object, required: [kind], properties: { kind: { type: string }, lives: { type: integer, example: 9 } } }
    Dog: { type: object, required: [kind], properties: { kind: { type: string }, bark: { type: boolean } } }
T
"$LS" workloads from-openapi a.yaml -o site | tee imported; sed -n '/^\[operations/,$p' site/workload.toml
sed -i 's/^kind = "flat".*/kind = "sequence"\nsequence = ["named", "readonly", "pet", "search", "number"]/; /operations_per_session/d; /^shares/d' site/workload.toml
"$LS" try site --target "http://127.0.0.1:$PORT" > out 2>&1 || tail -5 out
"$PY" - > seen <<'P'
import srv
for o in srv.log():
    if o["method"] != "HEAD": print(o["method"], o["target"], o["body"], [v for n, v in o["headers"] if n == "cookie"])
P
cat seen
grep -q "A-17" seen && grep -q "tag=red" seen || wrong "named examples of parameters are not used"
grep -q "K-9" seen || wrong "named examples of a body are not used"
grep "/readonly" seen | grep -q '"id"\|created' && wrong "read-only properties are sent"
grep "/pets" seen | grep -q '"kind": "cat"' || wrong "the discriminator does not name the schema that is sent"
grep -q "ids=3&ids=4" seen || wrong "a list in a query is not sent as its style says"
grep -q "filter%5Bcolor%5D=red\|filter\[color\]=red" seen || wrong "deepObject is not sent as its style says"
grep "/search" seen | grep -q "debug=1" || wrong "a required cookie is left out"
grep "/number" seen | grep -Eq 't=-[1-4][0-9]' || wrong "a number below zero is outside its bounds"
grep "/number" seen | grep -Eq 'p=0\.[2-8]' || wrong "a fraction is outside its bounds"
finish
