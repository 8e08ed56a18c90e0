import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Payment of an order, in cents. */
@Entity
@Table(name = "payments")
public class Payment {
    @Id
    @Column(name = "order_id")
    private String orderId;
    private String card;
    private long amount;

    protected Payment() {
    }

    Payment(String orderId, String card, long amount) {
        this.orderId = orderId;
        this.card = card;
        this.amount = amount;
    }
}
