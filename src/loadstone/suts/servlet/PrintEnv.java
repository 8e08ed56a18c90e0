import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Collections;
import java.util.Map;

/** Tells a client its request and the environment, in the server's process. */
public final class PrintEnv extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain");
        PrintWriter out = response.getWriter();
        out.println("REQUEST_METHOD=" + request.getMethod());
        out.println("REQUEST_URI=" + request.getRequestURI());
        out.println("SERVER_PROTOCOL=" + request.getProtocol());
        for (String name : Collections.list(request.getHeaderNames())) {
            out.println("HTTP_" + name.toUpperCase() + "=" + request.getHeader(name));
        }
        for (Map.Entry<String, String> variable : System.getenv().entrySet()) {
            out.println(variable.getKey() + "=" + variable.getValue());
        }
        out.println("end of environment");
    }
}
