use anyhow::Result;

use super::*;

#[test]
fn the_word_tells_what_kind_of_database_it_is() {
    assert!(matches!(Database::parse("postgresql://a@h:1/x"), Database::Postgres(_)));
    assert!(matches!(Database::parse("mysql://a@h:1/x"), Database::MariaDb(_)));
    assert!(matches!(Database::parse("role://h:1"), Database::Role(address) if address == "h:1"));
    assert!(matches!(Database::parse("folder/data.db"), Database::File(_)));
}

#[test]
fn what_is_rolled_back_leaves_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut connection = Database::File(folder.path().join("a.db")).connect()?;
    connection.run("CREATE TABLE t (a BIGINT PRIMARY KEY)", &[])?;
    for (value, fate) in [(1, Fate::Kept), (2, Fate::RolledBack)] {
        transact(connection.as_mut(), Access::Write, |c| {
            c.run("INSERT INTO t (a) VALUES ($1)", &[value.into()])?;
            Ok(((), fate))
        })?;
    }
    assert_eq!(connection.run("SELECT a FROM t", &[])?, [[Value::Int(1)]]);
    let again = connection.run("INSERT INTO t (a) VALUES (1)", &[]);
    assert!(matches!(again, Err(SqlError::Duplicate(_))));
    Ok(())
}
