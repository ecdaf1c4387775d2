import java.util.ArrayList;

/** Keeps what it makes, or does not: java Kept.java kept|dropped SECONDS. */
public class Kept {
    public static void main(String[] args) throws Exception {
        ArrayList<byte[]> all = new ArrayList<>();
        double seconds = Double.parseDouble(args[1]);
        long sum = 0;
        for (int i = 0; i < 400; i++) {
            byte[] data = new byte[100_000];
            sum += data.length;
            if (args[0].equals("kept")) {
                all.add(data);
            }
            Thread.sleep((long) (seconds * 1000 / 400));
        }
        System.out.println(sum + all.size());
    }
}
