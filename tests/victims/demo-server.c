/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * demo-server: a small order server, as one finds them in production: an
 * epoll loop takes orders, worker threads price them, and somebody wrote the
 * discount table as a list. Its customers live in the same process, order
 * over socket pairs and check every receipt. The server counts all that a
 * visitor could do to it: errors, interrupted calls, the longest wait.
 *
 * What a profile should tell: nearly all time is in price_order, and there
 * most in find_discount, which walks that list; sign_receipt is the honest
 * rest.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "burn.h"
#include "victim.h"

enum {
	CUSTOMERS = 6, WORKERS = 2, DISCOUNTS = 16000, LINES = 24,
	PAUSE_US = 4000, SIGN_ROUNDS = 30000,
};

struct order {
	uint32_t number, customer;
	uint32_t article[LINES];
};

struct receipt {
	uint32_t number, price;
	uint64_t signature;
};

struct discount {
	struct discount *next;
	uint32_t article, percent;
};

static struct discount *discounts;
static int server_end[CUSTOMERS], customer_end[CUSTOMERS];
static _Atomic uint64_t requests, errors, interrupted, longest_ns, checksum;

/* ---- the shop ------------------------------------------------------------ */

static uint32_t
percent_of(uint32_t article)
{
	return article * 2654435761u >> 28;
}

static void
fill_discounts(void)
{
	for (uint32_t i = 0; i < DISCOUNTS; i++) {
		struct discount *d = malloc(sizeof *d);

		if (!d)
			exit(99);
		*d = (struct discount){ discounts, i, percent_of(i) };
		discounts = d;
	}
}

NOINLINE static uint32_t
find_discount(uint32_t article)
{
	for (const struct discount *d = discounts; d; d = d->next)
		if (d->article == article)
			return d->percent;
	return 0;
}

NOINLINE static uint32_t
price_order(const struct order *order)
{
	uint32_t price = 0;

	for (int i = 0; i < LINES; i++) {
		const uint32_t full = 100 + order->article[i] % 900;

		price += full * (100 - find_discount(order->article[i]));
	}
	return price;
}

/* What a customer pays, worked out without the list. */
static uint32_t
expected_price(const struct order *order)
{
	uint32_t price = 0;

	for (int i = 0; i < LINES; i++)
		price += (100 + order->article[i] % 900) *
			(100 - percent_of(order->article[i]));
	return price;
}

NOINLINE static uint64_t
sign_receipt(const struct receipt *receipt, int rounds)
{
	uint64_t x = ((uint64_t)receipt->number << 32) | receipt->price;

	for (int i = 0; i < rounds; i++) {
		x ^= x >> 29;
		x *= 0xbf58476d1ce4e5b9u;
	}
	return x;
}

/* ---- input and output that counts every trouble -------------------------- */

static bool
trouble(ssize_t got, size_t wanted)
{
	if (got == (ssize_t)wanted)
		return false;
	if (atomic_load(&victim_over))
		return true;
	atomic_fetch_add(got < 0 && errno == EINTR ? &interrupted : &errors,
			 1);
	return true;
}

/* ---- workers ------------------------------------------------------------- */

static struct order queue[CUSTOMERS];	/* one order a customer at a time */
static unsigned queue_head, queue_tail;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;

static void
queue_put(const struct order *order)
{
	pthread_mutex_lock(&queue_lock);
	queue[queue_tail++ % CUSTOMERS] = *order;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

static bool
queue_take(struct order *order)
{
	pthread_mutex_lock(&queue_lock);
	while (queue_head == queue_tail && !atomic_load(&victim_over))
		pthread_cond_wait(&queue_filled, &queue_lock);
	const bool some = queue_head != queue_tail;
	if (some)
		*order = queue[queue_head++ % CUSTOMERS];
	pthread_mutex_unlock(&queue_lock);
	return some;
}

NOINLINE static void
serve_order(const struct order *order)
{
	struct receipt receipt = { .number = order->number };

	receipt.price = price_order(order);
	receipt.signature = sign_receipt(&receipt, SIGN_ROUNDS);
	trouble(write(server_end[order->customer], &receipt, sizeof receipt),
		sizeof receipt);
}

static void *
worker(void *arg)
{
	struct order order;

	(void)arg;
	pthread_setname_np(pthread_self(), "worker");
	while (queue_take(&order))
		serve_order(&order);
	return NULL;
}

/* ---- the event loop ------------------------------------------------------ */

static void
take_order(int fd)
{
	struct order order;

	if (!trouble(read(fd, &order, sizeof order), sizeof order))
		queue_put(&order);
}

static void *
event_loop(void *arg)
{
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev[CUSTOMERS];

	(void)arg;
	pthread_setname_np(pthread_self(), "event-loop");
	for (int i = 0; i < CUSTOMERS; i++) {
		ev[0] = (struct epoll_event){ EPOLLIN,
					      { .fd = server_end[i] } };
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, server_end[i], ev) < 0)
			exit(99);
	}
	while (!atomic_load(&victim_over)) {
		const int n = epoll_wait(epoll, ev, CUSTOMERS, 100);

		if (n < 0)
			trouble(n, 0);
		for (int i = 0; i < n; i++)
			take_order(ev[i].data.fd);
	}
	close(epoll);
	return NULL;
}

/* ---- customers ----------------------------------------------------------- */

static void
note_wait(uint64_t ns)
{
	uint64_t longest = atomic_load(&longest_ns);

	while (ns > longest &&
	       !atomic_compare_exchange_weak(&longest_ns, &longest, ns))
		;
}

static void
check_receipt(const struct order *order, const struct receipt *receipt)
{
	if (receipt->number != order->number ||
	    receipt->price != expected_price(order) ||
	    receipt->signature != sign_receipt(receipt, SIGN_ROUNDS))
		atomic_fetch_add(&errors, 1);
	atomic_fetch_xor(&checksum, receipt->signature);
	atomic_fetch_add(&requests, 1);
}

/* Orders, waits for the receipt, thinks. false: the shop is closing. */
static bool
shop_once(uint32_t who, uint32_t number, uint32_t *seed)
{
	const struct timespec pause = { .tv_nsec = PAUSE_US * 1000 };
	struct order order = { .number = number, .customer = who };
	struct receipt receipt;
	uint64_t start;

	for (int i = 0; i < LINES; i++)
		order.article[i] = victim_random(seed) % DISCOUNTS;
	start = victim_clock(CLOCK_MONOTONIC);
	if (trouble(write(customer_end[who], &order, sizeof order),
		    sizeof order) ||
	    trouble(read(customer_end[who], &receipt, sizeof receipt),
		    sizeof receipt))
		return !atomic_load(&victim_over);
	note_wait(victim_clock(CLOCK_MONOTONIC) - start);
	check_receipt(&order, &receipt);
	if (nanosleep(&pause, NULL) < 0)
		trouble(-1, 0);
	return !atomic_load(&victim_over);
}

static void *
customer(void *arg)
{
	const uint32_t who = (uintptr_t)arg;
	uint32_t seed = 77 + who, number = 0;

	pthread_setname_np(pthread_self(), "customer");
	while (shop_once(who, number++, &seed))
		;
	return NULL;
}

/* ---- ------------------------------------------------------------------------ */

/* The longest wait is the one since the last mark. */
static void
mark(void)
{
	victim_say("requests", atomic_load(&requests));
	victim_say("errors", atomic_load(&errors));
	victim_say("eintr", atomic_load(&interrupted));
	victim_say("longest_wait_us", atomic_exchange(&longest_ns, 0) / 1000);
	victim_say("receipts_checksum", atomic_load(&checksum));
}

static void
open_shop(pthread_t *threads)
{
	int n = 0;

	fill_discounts();
	for (uintptr_t i = 0; i < CUSTOMERS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			       pair) < 0)
			exit(99);
		server_end[i] = pair[0];
		customer_end[i] = pair[1];
	}
	if (pthread_create(&threads[n++], NULL, event_loop, NULL) != 0)
		exit(99);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[n++], NULL, worker, NULL) != 0)
			exit(99);
	for (uintptr_t i = 0; i < CUSTOMERS; i++)
		if (pthread_create(&threads[n++], NULL, customer,
				   (void *)i) != 0)
			exit(99);
}

static void
close_shop(const pthread_t *threads)
{
	/* whoever still waits for an order or a receipt */
	pthread_mutex_lock(&queue_lock);
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	for (int i = 0; i < CUSTOMERS; i++)
		(void)shutdown(customer_end[i], SHUT_RDWR);
	for (int i = 0; i < 1 + WORKERS + CUSTOMERS; i++)
		pthread_join(threads[i], NULL);
}

int
main(void)
{
	pthread_t threads[1 + WORKERS + CUSTOMERS];

	victim_init();
	signal(SIGPIPE, SIG_IGN);	/* the shop closes under way */
	open_shop(threads);
	victim_ready();
	victim_serve(mark);
	close_shop(threads);
	mark();
	return victim_end(atomic_load(&errors) == 0 &&
			  atomic_load(&interrupted) == 0);
}
