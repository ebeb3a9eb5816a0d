// SPDX-License-Identifier: GPL-3.0-or-later
//
// throw: exceptions as fast as they go, with destructors that count.
//
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <csignal>

#include "../page.h"

static struct torture_page *page;

struct counted {
	static thread_local long alive;
	counted() { alive++; }
	~counted() { alive--; }
};
thread_local long counted::alive;

__attribute__((noinline)) static int
descend(int n)
{
	counted here;

	if (n == 0)
		throw std::runtime_error(std::string("at the bottom"));
	return descend(n - 1) + 1;
}

static void
storm()
{
	while (!page->stop) {
		bool caught = false;

		try {
			(void)descend(8);
		} catch (const std::runtime_error &e) {
			caught = std::string(e.what()) == "at the bottom";
		}
		if (!caught || counted::alive != 0)
			__atomic_fetch_add(&page->wrong, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&page->rounds, 1, __ATOMIC_RELAXED);
	}
}

int
main(int argc, char **argv)
{
	const char *fd = getenv("TORTURE_PAGE");
	const unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	void *at = mmap(nullptr, TORTURE_PAGE_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED, fd ? atoi(fd) : -1, 0);
	std::vector<std::thread> threads;

	if (at == MAP_FAILED)
		return 99;
	page = static_cast<struct torture_page *>(at);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 1; i < n; i++)
		threads.emplace_back(storm);
	page->ready = 1;
	storm();
	for (auto &t : threads)
		t.join();
	printf("eintr 0 wrong %llu missed 0 rounds %llu\n",
	       static_cast<unsigned long long>(page->wrong),
	       static_cast<unsigned long long>(page->rounds));
	return page->wrong != 0;
}
