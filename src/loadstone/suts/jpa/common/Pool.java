import org.apache.tomcat.jdbc.pool.DataSource;

/** Connections as the servlets have them, but each query outside of a transaction is committed by itself. */
public final class Pool {
    private Pool() {
    }

    public static DataSource open() {
        DataSource pool = Database.openPool();
        pool.setDefaultAutoCommit(true);
        pool.setRollbackOnReturn(false);
        return pool;
    }
}
