\set kind random(1, 3)
\set term random(1, :products / 10 - 1)
\set rows random(1, 2 * :rows_mean - 1)
SELECT id, title, actor, price_cents FROM dvd_store.search(:kind, :term, :rows);
