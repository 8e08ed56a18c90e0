\set place random(1, 1000000)
BEGIN;
INSERT INTO order_entry.customers (name, mail, credit_cents)
    VALUES ('customer ' || md5(:place::text), 'new' || :place::text || '@shop.example', 10000) RETURNING id AS customer \gset
INSERT INTO order_entry.addresses VALUES (:customer, 'street ' || (:place % 977)::text, 'town ' || (:place % 97)::text);
COMMIT;
