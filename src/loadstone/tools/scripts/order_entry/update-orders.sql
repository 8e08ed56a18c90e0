\set customer random(1, :customers)
\set quantity random(1, 3)
SELECT o.id, o.status, l.line, l.product, l.quantity, l.price_cents
    FROM order_entry.orders AS o JOIN order_entry.order_lines AS l ON l.purchase = o.id
    WHERE o.customer = :customer ORDER BY o.id DESC, l.line LIMIT 10;
SELECT order_entry.update_order(:customer, :quantity);
