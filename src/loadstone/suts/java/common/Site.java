import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Optional;

/** What sites over a database have in common: their database, what requests hold, and what clients are told when one fails. */
abstract class Site extends HttpServlet {
    protected Database database;

    @Override
    public void init() {
        database = new Database();
    }

    @Override
    public void destroy() {
        database.close();
    }

    /** What a visitor asks for that there is no page of. */
    static final class Refused extends Exception {
        final int status;

        Refused(int status) {
            super("status " + status, null, false, false);
            this.status = status;
        }
    }

    interface Work {
        void perform() throws Exception;
    }

    /** Does what a request asks for; a failure is told to its client. */
    void answer(HttpServletRequest request, HttpServletResponse response, Work work) throws IOException {
        try {
            work.perform();
        } catch (Refused refused) {
            refuse(response, refused.status);
        } catch (Exception error) {
            log(request.getRequestURI(), error);
            refuse(response, error instanceof SQLException sql && Database.isDuplicate(sql) ? 409 : 500);
        }
    }

    static void refuse(HttpServletResponse response, int status) throws IOException {
        response.setStatus(status);
        send(response, "text/plain", (status + "\n").getBytes(StandardCharsets.US_ASCII));
    }

    static void send(HttpServletResponse response, String type, byte[] body) throws IOException {
        response.setContentType(type);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    static void json(HttpServletResponse response, String text) throws IOException {
        send(response, "application/json", text.getBytes(StandardCharsets.UTF_8));
    }

    /** The last part of a request's path. */
    static String place(HttpServletRequest request) {
        String path = request.getRequestURI();
        return path.substring(path.lastIndexOf('/') + 1);
    }

    static String cookie(HttpServletRequest request, String name) {
        for (Cookie cookie : Optional.ofNullable(request.getCookies()).orElse(new Cookie[0])) {
            if (cookie.getName().equals(name)) {
                return cookie.getValue();
            }
        }
        return "";
    }

    static String text(HttpServletRequest request, String name) {
        return Optional.ofNullable(request.getParameter(name)).orElse("");
    }

    static Optional<Long> number(HttpServletRequest request, String name) {
        try {
            return Optional.of(Long.parseLong(text(request, name)));
        } catch (NumberFormatException none) {
            return Optional.empty();
        }
    }

    static long needed(HttpServletRequest request, String name) throws Refused {
        return number(request, name).orElseThrow(() -> new Refused(400));
    }
}
