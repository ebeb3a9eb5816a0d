/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * io DIRECTORY [THREADS [on]]: at the first mark its threads begin, and each
 * does the same work once, or again and again until it is over: it reads,
 * writes, opens and closes in all ways there are, by files of its own, pipes,
 * sockets and streams. Each way has a function do_NAME of its own (io-calls.h),
 * and for each it knows how often it was called, how many bytes it moved and
 * how often it failed. `done 1` tells that all have been through.
 */
#include "crew.h"
#include "io-rough.h"

enum { THREADS = 3, ROUNDS = 60, BLOCK = 4096 };

static atomic_bool go;
static _Atomic uint64_t finished;
static int threads = THREADS;
static bool again;
static const char *directory;
static void *volatile nowhere = (void *)8;

/* ---- work ---------------------------------------------------------------- */

static void
files(int number, int round, uint32_t *seed)
{
	char path[4096], block[BLOCK] = "";
	const size_t n = 1 + victim_random(seed) % BLOCK;
	struct iovec v[2] = { { block, n / 2 }, { block + 100, 50 } };
	int fd, other;

	snprintf(path, sizeof path, "%s/file.%d.%d", directory, number,
		 round % 3);
	fd = (int)do_open(path, O_RDWR | O_CREAT, 0600);
	must(fd >= 0, path);
	must(do_write_file(fd, block, n) == (int64_t)n, "write");
	(void)do_pwrite(fd, block, n, 10);
	(void)do_pwrite64(fd, block, n / 3, 1);
	(void)do_writev(fd, v, 2);
	(void)do_pwritev(fd, v, 2, 7);
	(void)do_pwritev2(fd, v, 1, 9);
	must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	(void)do_read_file(fd, block, n);
	(void)do_read_file(fd, block, sizeof block);	/* short, or nothing */
	(void)do_pread(fd, block, n, 3);
	(void)do_pread64(fd, block, n, 4);
	must(lseek(fd, 5, SEEK_SET) == 5, "lseek");
	(void)do_readv(fd, v, 2);
	(void)do_preadv(fd, v, 2, 1);
	(void)do_preadv2(fd, v, 2, 2);
	(void)do_read_chk(fd, block, 11);
	(void)do_pread_chk(fd, block, 13, 0);
	must(lseek(fd, 0, SEEK_SET) == 0 &&
	     do_failing_read(fd, nowhere) == -1 && errno == EFAULT, "EFAULT");
	must(do_fdatasync(fd) == 0, "fdatasync");
	if (round % 20 == 0)
		must(do_fsync(fd) == 0, "fsync");
	other = (int)do_creat(path);
	must(other >= 0, "creat");
	must(do_failing_read(other, nowhere) == -1 && errno == EBADF, "EBADF");
	must(do_close(other) == 0, "close");
	must(do_pwrite(fd, block, sizeof block, 0) == BLOCK, "pwrite");
	other = (int)do_open64(path, O_RDONLY);
	must(do_failing_write(other) == -1 && errno == EBADF, "read-only");
	must(do_close(other) == 0, "close");
	other = (int)do_open_2(path, O_RDONLY);
	must(do_close(other) == 0, "close");
	other = (int)do_openat(AT_FDCWD, path, O_RDWR);
	must(lseek(fd, 100, SEEK_SET) == 100, "lseek");
	must(do_copy_file_range(fd, other, 5000, 1000) == 0, "end");
	must(do_copy_file_range(fd, other, 0, 10) == 10, "copy_file_range");
	(void)do_sendfile(other, fd, 5, 700);
	must(do_close(other) == 0, "close");
	must(do_close(fd) == 0, "close");
	must(do_close(-1) == -1 && errno == EBADF, "close");
	must(do_open("/nowhere/to/be/found", O_RDONLY, 0) == -1 &&
	     errno == ENOENT, "open");
	snprintf(path, sizeof path, "%s/temporary.XXXXXX", directory);
	fd = (int)do_mkstemp(path);
	must(fd >= 0 && do_close(fd) == 0 && unlink(path) == 0, "mkstemp");
}

static void
descriptors(int number)
{
	char block[300] = "";
	int fds[2], fd, to = 200 + number;

	must(do_pipe(fds) == 0, "pipe");
	must(do_write(fds[1], block, sizeof block) == sizeof block, "write");
	fd = (int)do_dup(fds[0]);
	must(do_dup2(fd, to) == to, "dup2");
	must(do_close(fd) == 0, "close");
	must(do_read(to, block, 100) == 100, "read");
	must(do_dup3(fds[0], to) == to, "dup3");
	fd = (int)do_fcntl(to);
	must(fcntl(fd, F_GETFD) == FD_CLOEXEC, "fcntl");
	must(do_read(fd, block, 100) == 100, "read");
	must(do_close(fd) == 0 && do_close(to) == 0, "close");
	must(do_close(fds[0]) == 0 && do_close(fds[1]) == 0, "close");

	int other[2];

	must(do_pipe2(fds) == 0 && do_pipe2(other) == 0, "pipe2");
	must(do_write(fds[1], block, 222) == 222, "write");
	must(do_splice(other[1], fds[0], 1000) == 222, "splice");
	must(fcntl(other[0], F_SETFL, O_NONBLOCK) == 0, "fcntl");
	must(do_read(other[0], block, 300) == 222, "read");
	must(do_read(other[0], block, 300) == -1 && errno == EAGAIN, "read");
	for (int i = 0; i < 2; i++)
		must(do_close(fds[i]) == 0 && do_close(other[i]) == 0,
		     "close");
}

static void
messages(void)
{
	char block[512] = "";
	struct iovec v[2] = { { block, 100 }, { block + 100, 23 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	struct mmsghdr several[3] = { { .msg_hdr = m }, { .msg_hdr = m },
				      { .msg_hdr = m } };
	int fds[2];

	must(do_socketpair(fds, SOCK_DGRAM) == 0, "socketpair");
	must(do_send(fds[0], block, 17) == 17, "send");
	must(do_recv(fds[1], block, sizeof block, 0) == 17, "recv");
	must(do_sendto(fds[1], block, 170) == 170, "sendto");
	must(do_recvfrom(fds[0], block, 100) == 100, "recvfrom");
	must(do_sendmsg(fds[0], &m) == 123, "sendmsg");
	must(do_recvmsg(fds[1], &m) == 123, "recvmsg");
	must(do_sendmmsg(fds[0], several, 3) == 369, "sendmmsg");
	must(do_recvmmsg(fds[1], several, 3) == 369, "recvmmsg");
	must(do_send(fds[0], block, 19) == 19, "send");
	must(do_recv_chk(fds[1], block, sizeof block) == 19, "recv_chk");
	must(do_send(fds[0], block, 29) == 29, "send");
	must(do_recvfrom_chk(fds[1], block, sizeof block) == 29,
	     "recvfrom_chk");
	must(do_recv(fds[1], block, 10, MSG_DONTWAIT) == -1 &&
	     errno == EAGAIN, "recv");
	must(do_close(fds[0]) == 0 && do_close(fds[1]) == 0, "close");
}

static void
network(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;
	struct sockaddr *name = (struct sockaddr *)&at;
	char block[BLOCK] = "";
	const int listener = (int)do_socket(AF_INET, SOCK_STREAM);

	must(bind(listener, name, n) == 0 && listen(listener, 5) == 0 &&
	     getsockname(listener, name, &n) == 0, "listen");
	for (int i = 0; i < 2; i++) {
		const int fd = (int)do_socket(AF_INET, SOCK_STREAM);
		struct sockaddr_in from;
		socklen_t length = sizeof from;

		must(do_connect(fd, name, sizeof at) == 0, "connect");

		const int end = (int)(i ? do_accept4(listener) :
			do_accept(listener, (struct sockaddr *)&from,
				  &length));

		must(do_write(fd, block, 1000) == 1000, "write");
		must(do_recv(end, block, 1000, MSG_WAITALL) == 1000, "recv");
		must(do_send(end, block, 77) == 77, "send");
		must(do_recv(fd, block, 77, MSG_WAITALL) == 77, "recv");
		must(do_close(end) == 0, "close");
		must(do_read(fd, block, 1) == 0, "end of a connection");
		must(do_close(fd) == 0, "close");
	}
	must(do_close(listener) == 0, "close");

	const int fd = (int)do_socket(AF_INET, SOCK_STREAM);

	at.sin_port = htons(1);		/* where nobody listens */
	must(do_connect(fd, name, sizeof at) == -1 && errno == ECONNREFUSED,
	     "connect");
	must(do_close(fd) == 0, "close");
}

static void
streams(int number)
{
	char path[4096], block[1000];
	size_t room = 0;
	char *line = NULL;
	FILE *f = NULL, *none = NULL;

	snprintf(path, sizeof path, "%s/stream.%d", directory, number);
	memset(block, 'a', sizeof block);
	must(do_fopen(&f, path, "w+") == 0, "fopen");
	must(do_fopen(&none, "/nowhere/to/be/found", "r") == -1, "fopen");
	must(do_fwrite(block, 10, 50, f) == 500, "fwrite");
	must(do_fwrite_unlocked(block, 1, 7, f) == 7, "fwrite");
	must(do_fputs("\nwords:and\n", f) > 0, "fputs");
	must(do_fputc('x', f) == 1 && do_putc('\n', f) == 1, "fputc");
	must(do_fprintf(f, number, 1.5) > 0, "fprintf");
	must(do_fprintf_chk(f, number, 2.5) > 0, "fprintf");
	formatted(f, "%d %s %f\n", 77, "text", 0.25);
	must(do_fflush(f) == 0, "fflush");
	rewind(f);
	must(do_fread(block, 100, 5, f) == 500, "fread");
	must(do_fread_unlocked(block, 1, 3, f) == 3, "fread");
	must(do_fread_chk(block, 2, 2, f) == 4, "fread");
	must(do_fgets(block, sizeof block, f) == 1, "fgets");
	must(do_getdelim(&line, &room, f) == 6, "getdelim");
	must(do_fgets_chk(block, sizeof block, f) == 4, "fgets");
	must(do_fgetc(f) == 1 && do_getc(f) == 1, "fgetc");
	must(do_getline(&line, &room, f) > 0, "getline");
	while (do_fgets(block, 5, f) > 0)
		;
	must(do_getline(&line, &room, f) == 0 && do_getc(f) == 0, "end");
	must(do_fclose(f) == 0, "fclose");
	must(do_fopen(&f, path, "a") == 0 &&
	     do_fgets(block, 5, f) == -1 && errno == EBADF &&
	     do_fgetc(f) == -1, "write-only");
	must(do_fclose(f) == 0, "fclose");
	must(do_fopen64(&f, path) == 0, "fopen64");
	must(do_freopen(&f, path, f) == 0, "freopen");
	must(do_fread(block, 1, 10, f) == 10, "fread");
	must(do_fclose(f) == 0, "fclose");

	const int fd = (int)do_open(path, O_RDWR, 0);

	must(do_dprintf(fd, 99) > 0 && do_dprintf_chk(fd, 999) > 0, "dprintf");
	must(do_fdopen(&f, fd) == 0, "fdopen");
	must(do_fread(block, 7, 1, f) == 7, "fread");
	must(do_fclose(f) == 0, "fclose");
	free(line);
	must(is_right(number, 1.25 * number), "fprintf");
	(void)do_printf(number, 0.5);
	(void)do_puts("chatter");
	(void)do_putchar('\n');
}

/* ---- all of it ----------------------------------------------------------- */

static void
rounds(int number, uint32_t *seed)
{
	for (int i = 0; i < ROUNDS && !atomic_load(&victim_over); i++) {
		files(number, i, seed);
		descriptors(number);
		messages();
		network();
		streams(number);
		raise(SIGUSR2);
	}
}

static void *
work(void *arg)
{
	const int number = (int)(uintptr_t)arg;
	uint32_t seed = (uint32_t)number;

	while (!atomic_load(&go) && !atomic_load(&victim_over))
		usleep(1000);
	do {
		rounds(number, &seed);
		cancelled();
		interrupted();
		children();
	} while (again && !atomic_load(&victim_over));
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void
mark(void)
{
	atomic_store(&go, true);
	for (int i = 0; i < ntallies; i++)
		printf("tally %s %llu %llu %llu %llu %llu %llu\n",
		       tallies[i]->name,
		       (unsigned long long)tallies[i]->reads,
		       (unsigned long long)tallies[i]->read_bytes,
		       (unsigned long long)tallies[i]->writes,
		       (unsigned long long)tallies[i]->written,
		       (unsigned long long)tallies[i]->others,
		       (unsigned long long)tallies[i]->errors);
	victim_say("done", atomic_load(&finished) == (uint64_t)threads);
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return 99;
	directory = argv[1];
	if (argc > 2)
		threads = atoi(argv[2]);
	again = argc > 3;
	if (pipe(told) < 0 || fcntl(told[1], F_SETFL, O_NONBLOCK) < 0)
		return 99;
	signal(SIGUSR2, on_signal);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_nothing },
		  NULL);
	signal(SIGPIPE, SIG_IGN);
	victim_init();
	crew_serve(threads, work, mark);
	return victim_end(atomic_load(&finished) == (uint64_t)threads);
}
