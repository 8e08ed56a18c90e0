-- Fails the filling of a database whose table has another number of rows than it should have.
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.check_rows(checked regclass, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    counted bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %s', checked) INTO counted;
    IF counted <> expected THEN
        RAISE EXCEPTION 'table % has % rows instead of %', checked, counted, expected;
    END IF;
END $$;
