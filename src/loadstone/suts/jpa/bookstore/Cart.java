import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Cart of a visitor, who becomes its customer by asking to buy. */
@Entity
@Table(name = "carts")
public class Cart {
    @Id
    private String id;
    /** 0 for a visitor who has not said who buys. */
    @Column(name = "customer")
    private long customerId;

    protected Cart() {
    }

    Cart(String id) {
        this.id = id;
    }

    long getCustomerId() {
        return customerId;
    }

    void setCustomerId(long customer) {
        customerId = customer;
    }
}
