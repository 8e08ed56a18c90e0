import jakarta.servlet.http.HttpServletResponse;
import java.awt.Graphics2D;
import java.awt.Image;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;

/** Pictures and papers, which a store at another address keeps; small pictures are made here. */
final class Pictures {
    static final String PATH = "/events/store/";
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int WIDTH = 133;
    private static final int HEIGHT = 100;
    /** Of a side: 48 MiB of colours, however few bytes say so. */
    private static final int MOST_POINTS = 4_096;

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PATIENCE).build();
    private final String base;

    Pictures(String address) {
        base = "http://" + address;
    }

    static String path(String kind, long id) {
        return PATH + kind + "/" + id;
    }

    /** Hands on what the store says. */
    void send(String path, HttpServletResponse response) throws IOException, InterruptedException {
        HttpResponse<byte[]> found = client.send(asking(path).GET().build(), HttpResponse.BodyHandlers.ofByteArray());
        response.setStatus(found.statusCode());
        Site.send(response, found.headers().firstValue("content-type").orElse("text/plain"), found.body());
    }

    /** Keeps a picture that was sent, and a small one of it. */
    void keep(byte[] picture, String whole, String small, long id) throws IOException, InterruptedException, Site.Refused {
        byte[] thumbnail = thumbnail(picture);
        put(whole, id, picture);
        put(small, id, thumbnail);
    }

    void put(String kind, long id, byte[] content) throws IOException, InterruptedException {
        HttpRequest request = asking(path(kind, id)).PUT(HttpRequest.BodyPublishers.ofByteArray(content)).build();
        int status = client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status != 201) {
            throw new IOException("the file store answers " + status);
        }
    }

    private HttpRequest.Builder asking(String path) {
        return HttpRequest.newBuilder(URI.create(base + path)).timeout(PATIENCE);
    }

    /** Looks at how large it is before it is read. */
    private static BufferedImage read(byte[] picture) throws Site.Refused {
        ImageReader reader = ImageIO.getImageReadersByFormatName("jpeg").next();
        try (ImageInputStream input = ImageIO.createImageInputStream(new ByteArrayInputStream(picture))) {
            reader.setInput(input);
            if (Math.max(reader.getWidth(0), reader.getHeight(0)) > MOST_POINTS) {
                throw new Site.Refused(415);
            }
            return reader.read(0);
        } catch (IOException | RuntimeException broken) {
            throw new Site.Refused(415);
        } finally {
            reader.dispose();
        }
    }

    private static byte[] thumbnail(byte[] picture) throws IOException, Site.Refused {
        BufferedImage whole = read(picture);
        BufferedImage small = new BufferedImage(WIDTH, HEIGHT, BufferedImage.TYPE_INT_RGB);
        Graphics2D canvas = small.createGraphics();
        canvas.drawImage(whole.getScaledInstance(WIDTH, HEIGHT, Image.SCALE_AREA_AVERAGING), 0, 0, null);
        canvas.dispose();
        ByteArrayOutputStream coded = new ByteArrayOutputStream();
        ImageIO.write(small, "jpeg", coded);
        return coded.toByteArray();
    }
}
