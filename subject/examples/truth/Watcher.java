import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;

/** Handles each event of a watch with some kind of work, and says from when to when it was busy. */
public class Watcher {
    static final ExecutorService pool = Executors.newCachedThreadPool();

    static BufferedReader open(String path) throws Exception {
        URL url = URI.create("http://127.0.0.1:18080" + path).toURL();
        return new BufferedReader(new InputStreamReader(url.openStream()));
    }

    static void work(int number) throws Exception {
        switch (number % 5) {
            case 0 -> {
                var digest = MessageDigest.getInstance("SHA-256");
                byte[] value = new byte[32];
                for (int i = 0; i < 2000; i++) value = digest.digest(value);
            }
            case 1 -> {
                var first = new SynchronousQueue<Integer>();
                var second = new SynchronousQueue<Integer>();
                pool.submit(() -> {
                    for (int i = 0; i < 50; i++) second.put(first.take());
                    return null;
                });
                for (int i = 0; i < 50; i++) {
                    first.put(i);
                    second.take();
                }
            }
            case 2 -> {
                var file = Files.createTempFile("watcher", "");
                Files.writeString(file, "text");
                try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.force(true);
                }
                Files.delete(file);
            }
            case 3 -> new ProcessBuilder("true").start().waitFor();
            default -> {
                try (var answer = open("/echo/" + number)) {
                    answer.read();
                }
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        var lines = open("/watch");
        var worker = Executors.newSingleThreadExecutor();
        for (String line; (line = lines.readLine()) != null; ) {
            int number = Integer.parseInt(line);
            worker.submit(() -> {
                long begin = System.nanoTime(); // the kernel's monotonic clock
                try {
                    work(number);
                } catch (Exception error) {
                    error.printStackTrace();
                    System.exit(1);
                }
                System.out.println(number + " " + begin + " " + System.nanoTime());
            });
        }
    }
}
