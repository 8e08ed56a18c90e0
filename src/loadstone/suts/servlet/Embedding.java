import org.apache.catalina.startup.Catalina;

/** A program that has Tomcat within itself: reads conf/server.xml below catalina.base and serves until it is ended. */
public final class Embedding {
    public static void main(String[] words) {
        Catalina tomcat = new Catalina();
        tomcat.setAwait(true);
        tomcat.load();
        tomcat.start();
    }
}
