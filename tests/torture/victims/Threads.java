// SPDX-License-Identifier: GPL-3.0-or-later
// Threads: java that computes, allocates, sleeps and waits for locks.
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

public class Threads {
	static volatile boolean over;
	static final AtomicLong wrong = new AtomicLong();
	static final Object lock = new Object();
	static long shared;

	static void compute() {
		while (!over) {
			long[] a = new long[5000];
			long sum = 0;

			for (int i = 0; i < a.length; i++)
				a[i] = (long) i * i;
			for (long x : a)
				sum += x;
			if (sum != 41654167500L)
				wrong.incrementAndGet();
		}
	}

	static void sleep() {
		while (!over) {
			final long since = System.nanoTime();

			try {
				Thread.sleep(10);
			} catch (InterruptedException e) {
				wrong.incrementAndGet();
			}
			if (System.nanoTime() - since < 9900000)
				wrong.incrementAndGet();
		}
	}

	static void count() {
		while (!over) {
			synchronized (lock) {
				final long before = shared++;

				if (shared != before + 1)
					wrong.incrementAndGet();
			}
		}
	}

	public static void main(String[] args) throws Exception {
		final Runnable[] work = { Threads::compute, Threads::compute,
			Threads::sleep, Threads::count, Threads::count };
		final Thread[] threads = new Thread[work.length];

		for (int i = 0; i < work.length; i++) {
			threads[i] = new Thread(work[i]);
			threads[i].start();
		}
		System.out.println("ready " + ProcessHandle.current().pid());
		System.out.flush();
		while (System.in.read() >= 0)
			;
		over = true;
		for (Thread t : threads)
			t.join();
		System.out.println("eintr 0 wrong " + wrong.get() + " missed 0");
		System.exit(wrong.get() == 0 ? 0 : 1);
	}
}
