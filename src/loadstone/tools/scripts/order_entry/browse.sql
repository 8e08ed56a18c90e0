\set customer random(1, :customers)
\set product random(1, :products - 9)
SELECT name, credit_cents FROM order_entry.customers WHERE id = :customer;
SELECT id, placed_at, status, total_cents FROM order_entry.orders WHERE customer = :customer ORDER BY id DESC LIMIT 10;
SELECT id, name, price_cents FROM order_entry.products WHERE id BETWEEN :product AND :product + 9;
