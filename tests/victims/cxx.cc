// SPDX-License-Identifier: GPL-3.0-or-later
//
// cxx: templates, exceptions thrown through frames with destructors, virtual
// calls and lambdas, on two threads. Its names are long; a profile shows them
// demangled: burner<int>::run, burner<long>::run (1:2), and what throws.
#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "burn.h"
}
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static std::atomic<bool> over;
static std::atomic<unsigned long> thrown, caught, wrong;

namespace shop {

struct task {
	virtual ~task() = default;
	virtual uint64_t run(uint64_t x) = 0;
};

template <typename T> struct burner : task {
	uint64_t __attribute__((noinline)) run(uint64_t x) override
	{
		return burn(x, sizeof(T) * 20000);
	}
};

// Counts its lives, so that a lost destructor shows.
struct guard {
	static std::atomic<long> alive;
	guard() { alive++; }
	~guard() { alive--; }
};
std::atomic<long> guard::alive;

static void __attribute__((noinline))
throw_at(int depth)
{
	guard g;

	if (depth == 0) {
		thrown++;
		throw std::runtime_error("as planned");
	}
	throw_at(depth - 1);
	__asm__ volatile("");
}

static void __attribute__((noinline))
catch_one()
{
	try {
		throw_at(20);
	} catch (const std::runtime_error &) {
		caught++;
	}
}

} // namespace shop

static void
work()
{
	shop::burner<int> small;
	shop::burner<long> large;
	std::map<std::string, shop::task *> tasks{ { "small", &small },
						   { "large", &large } };
	const auto all = [&](uint64_t x) {
		for (auto &entry : tasks)
			x = entry.second->run(x);
		return x;
	};

	while (!over) {
		if (all(1) != leap(1, (sizeof(int) + sizeof(long)) * 20000))
			wrong++;
		shop::catch_one();
	}
}

int
main()
{
	std::vector<std::thread> threads;
	char c;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	for (int i = 0; i < 2; i++)
		threads.emplace_back(work);
	printf("ready %d\n", (int)getpid());
	while (read(0, &c, 1) == 1 && c == '\n')
		;
	over = true;
	for (auto &t : threads)
		t.join();
	printf("thrown %lu\n", thrown.load());
	const bool ok = thrown == caught && wrong == 0 &&
		shop::guard::alive == 0;
	printf("checksum %s\n", ok ? "ok" : "WRONG");
	return !ok;
}
