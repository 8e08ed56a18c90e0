\set user random(1, :customers)
SELECT id AS customer FROM dvd_store.customers
    WHERE login = 'user' || (:user)::text AND password = md5((:user)::text) \gset
SELECT o.id, p.title, p.actor FROM dvd_store.orders AS o
    JOIN dvd_store.order_lines AS l ON l.purchase = o.id JOIN dvd_store.products AS p ON p.id = l.product
    WHERE o.customer = :customer ORDER BY o.id DESC LIMIT 10;
