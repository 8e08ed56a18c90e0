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
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Map;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;

/** Pictures and papers, in a store at another address or in a folder that all servers share; small pictures are made here. */
final class Pictures {
    static final String PATH = "/events/store/";
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int WIDTH = 133;
    private static final int HEIGHT = 100;
    /** Of a side: 48 MiB of colours, however few bytes say so. */
    private static final int MOST_POINTS = 4_096;

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PATIENCE).build();
    private static final Map<String, String> TYPES = Map.of("papers", "application/pdf");

    private final String base;
    private final Path folder;

    /** In a folder where one is given, else in the store at an address. */
    Pictures(String address, String folder) {
        base = "http://" + address;
        this.folder = folder == null ? null : Path.of(folder);
    }

    static String path(String kind, long id) {
        return PATH + kind + "/" + id;
    }

    /** Hands on what the store says, or the file. */
    void send(String path, HttpServletResponse response) throws IOException, InterruptedException, Site.Refused {
        if (folder != null) {
            String[] words = path.substring(PATH.length()).split("/", 2);
            Site.send(response, TYPES.getOrDefault(words[0], "image/jpeg"), read(place(words)));
            return;
        }
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
        if (folder != null) {
            Path place = place(kind, id);
            Files.createDirectories(place.getParent());
            Path unfinished = place.resolveSibling(id + ".part");
            Files.write(unfinished, content);
            Files.move(unfinished, place, StandardCopyOption.ATOMIC_MOVE);
            return;
        }
        HttpRequest request = asking(path(kind, id)).PUT(HttpRequest.BodyPublishers.ofByteArray(content)).build();
        int status = client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status != 201) {
            throw new IOException("the file store answers " + status);
        }
    }

    private static byte[] read(Path place) throws IOException, Site.Refused {
        try {
            return Files.readAllBytes(place);
        } catch (NoSuchFileException none) {
            throw new Site.Refused(404);
        }
    }

    private Path place(String[] words) throws Site.Refused {
        if (words.length != 2 || !words[0].matches("[a-z-]+") || !words[1].matches("[1-9][0-9]{0,18}")) {
            throw new Site.Refused(404);
        }
        try {
            return place(words[0], Long.parseLong(words[1]));
        } catch (NumberFormatException tooLong) {
            throw new Site.Refused(404);
        }
    }

    /** No folder of a large store has too many entries. All that was not added is the one sample of its kind. */
    private Path place(String kind, long id) {
        if (id < Additions.FIRST_ID) {
            return folder.resolve(kind).resolve("sample");
        }
        String within = String.format("%03d/%03d/%d", id % 1_000, id / 1_000_000 % 1_000, id);
        return folder.resolve(kind).resolve(within);
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
