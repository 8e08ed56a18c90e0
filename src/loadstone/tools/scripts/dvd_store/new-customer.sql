\set place random(1, 1000000)
INSERT INTO dvd_store.customers (login, password, town)
    VALUES ('new' || nextval('dvd_store.customers_id_seq')::text, md5((:place)::text), 'town ' || (:place % 997)::text)
    RETURNING id AS customer \gset
