\set purchase :purchase + 1
\set lines random(1, 2 * :lines_mean - 1)
\set draw random(0, 1000000)
BEGIN;
SELECT dvd_store.purchase(:customer, :lines, :draw) AS is_bought \gset
\if :is_bought
COMMIT;
\else
ROLLBACK;
INSERT INTO dvd_store.refusals VALUES (:client_id, :purchase);
\endif
