import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.apache.tomcat.jdbc.pool.DataSource;

/** The way to the database: a pool of connections that keep their statements, and transactions that are tried again. */
final class Database {
    /** Tries of a transaction that others are in the way of. */
    static final int TRIES = 8;

    final Dialect dialect;
    private final DataSource pool = openPool();

    Database() {
        dialect = findDialect();
    }

    private static Dialect findDialect() {
        return url().startsWith("jdbc:postgresql:") ? Dialect.POSTGRESQL : Dialect.MARIADB;
    }

    private static String url() {
        return System.getProperty("loadstone.database");
    }

    /** A pool of the size that the application was given. */
    static DataSource openPool() {
        DataSource pool = new DataSource();
        pool.setDriverClassName(findDialect().driver);
        pool.setUrl(url());
        int size = Integer.getInteger("loadstone.pool");
        pool.setMaxActive(size);
        pool.setMaxIdle(size);
        pool.setInitialSize(1);
        pool.setMinIdle(1);
        pool.setDefaultAutoCommit(false);
        pool.setRollbackOnReturn(true);
        pool.setJdbcInterceptors("StatementCache(prepared=true,max=" + Integer.getInteger("loadstone.statements") + ")");
        return pool;
    }

    void close() {
        pool.close(true);
    }

    /** Where the databases' languages differ. */
    enum Dialect {
        POSTGRESQL("org.postgresql.Driver", " ON CONFLICT (%s) DO UPDATE SET %2$s = excluded.%2$s",
            " ON CONFLICT (%2$s) DO UPDATE SET %3$s = %1$s.%3$s + excluded.%3$s"),
        MARIADB("org.mariadb.jdbc.Driver", " ON DUPLICATE KEY UPDATE %2$s = VALUES(%2$s)",
            " ON DUPLICATE KEY UPDATE %3$s = %3$s + VALUES(%3$s)");

        final String driver;
        private final String orUpdate;
        private final String orAdd;

        Dialect(String driver, String orUpdate, String orAdd) {
            this.driver = driver;
            this.orUpdate = orUpdate;
            this.orAdd = orAdd;
        }

        /** The end of an insertion that, where there is such a row, changes a column of it. */
        String orUpdate(String key, String column) {
            return String.format(orUpdate, key, column);
        }

        /** The end of an insertion that, where there is such a row, adds to a column of it. */
        String orAdd(String table, String key, String column) {
            return String.format(orAdd, table, key, column);
        }
    }

    /** Something done within a transaction. */
    interface Work<T> {
        T perform(Connection connection) throws SQLException;
    }

    <T> T read(Work<T> work) throws SQLException {
        return transact(true, work);
    }

    <T> T write(Work<T> work) throws SQLException {
        return transact(false, work);
    }

    private <T> T transact(boolean readsOnly, Work<T> work) throws SQLException {
        for (int tries = 1;; tries++) {
            try (Connection connection = pool.getConnection()) {
                connection.setReadOnly(readsOnly);
                T found = work.perform(connection);
                connection.commit();
                return found;
            } catch (SQLException error) {
                if (!isConflict(error) || tries == TRIES) {
                    throw error;
                }
            }
        }
    }

    /** A deadlock, or a transaction that was in the way (SQLSTATE class 40). */
    static boolean isConflict(SQLException error) {
        return error.getSQLState() != null && error.getSQLState().startsWith("40");
    }

    /** An error after which a transaction is tried again. */
    static SQLException conflict(String reason) {
        return new SQLException(reason, "40001");
    }

    /** A row with this key is there (SQLSTATE class 23). */
    static boolean isDuplicate(SQLException error) {
        return error.getSQLState() != null && error.getSQLState().startsWith("23");
    }

    /** Rows of whole numbers (Long) and texts. */
    static List<Object[]> rows(Connection connection, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepared(connection, sql, values); ResultSet found = statement.executeQuery()) {
            int columns = found.getMetaData().getColumnCount();
            List<Object[]> rows = new ArrayList<>();
            while (found.next()) {
                Object[] row = new Object[columns];
                for (int at = 0; at < columns; at++) {
                    Object value = found.getObject(at + 1);
                    row[at] = value instanceof Number number ? (Object) number.longValue() : value;
                }
                rows.add(row);
            }
            return rows;
        }
    }

    /** How many rows a statement changed. */
    static int change(Connection connection, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepared(connection, sql, values)) {
            return statement.executeUpdate();
        }
    }

    private static PreparedStatement prepared(Connection connection, String sql, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int at = 0; at < values.length; at++) {
            statement.setObject(at + 1, values[at]);
        }
        return statement;
    }
}
