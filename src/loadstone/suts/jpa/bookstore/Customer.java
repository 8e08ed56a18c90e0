import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Person who may buy. */
@Entity
@Table(name = "customers")
public class Customer {
    @Id
    private long id;
    private String name;
    private String password;

    protected Customer() {
    }

    Customer(long id, String name, String password) {
        this.id = id;
        this.name = name;
        this.password = password;
    }

    public long getId() {
        return id;
    }

    public String getName() {
        return name;
    }
}
