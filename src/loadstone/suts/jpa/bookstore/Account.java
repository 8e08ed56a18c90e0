import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Money that a customer spent, in cents. */
@Entity
@Table(name = "accounts")
public class Account {
    @Id
    @Column(name = "customer")
    private long customerId;
    private long discount;
    private long spent;

    protected Account() {
    }

    Account(long customerId) {
        this.customerId = customerId;
    }

    void spend(long cents) {
        spent += cents;
    }
}
