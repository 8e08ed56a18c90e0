import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/** Answers to requests that a controller refuses. */
@ControllerAdvice
public class Refusals {
    @ExceptionHandler
    public ResponseEntity<byte[]> refuse(Site.Refused refused) {
        return answer(HttpStatus.valueOf(refused.status));
    }

    /** A row that exists is refused; any other error is the server's. */
    @ExceptionHandler
    public ResponseEntity<byte[]> refuse(RuntimeException error) {
        if (!Conflicts.isDuplicate(error)) {
            throw error;
        }
        return answer(HttpStatus.CONFLICT);
    }

    private static ResponseEntity<byte[]> answer(HttpStatus status) {
        byte[] body = (status.value() + "\n").getBytes(StandardCharsets.US_ASCII);
        return ResponseEntity.status(status).contentType(MediaType.TEXT_PLAIN).body(body);
    }
}
