import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Address that a customer's orders are sent to. */
@Entity
@Table(name = "addresses")
public class Address {
    @Id
    @Column(name = "customer")
    private long customerId;
    private String street;
    private String city;
    private String zip;

    protected Address() {
    }

    Address(long customerId, String street, String city, String zip) {
        this.customerId = customerId;
        this.street = street;
        this.city = city;
        this.zip = zip;
    }

    @Override
    public String toString() {
        return String.join(", ", street, city, zip);
    }
}
