// SPDX-License-Identifier: GPL-3.0-or-later
//
// locks-cxx: the waits of victim `locks` by the locks of C++.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "locks.h"

static std::mutex held, aside;
static std::condition_variable cond;
static bool given;

void
hold_cxx_mutex(void)
{
	held.lock();
	__asm__ volatile("");
}

void
wait_cxx_mutex(void)
{
	wait_begins();
	held.lock();
	wait_ends(1);
	held.unlock();
	__asm__ volatile("");
}

void
let_cxx_mutex(void)
{
	held.unlock();
}

void
ready_cxx_cond(void)
{
	given = false;
}

static std::unique_lock<std::mutex> __attribute__((noinline))
take_aside()
{
	return std::unique_lock<std::mutex>(aside);
}

void
wait_cxx_cond(void)
{
	std::unique_lock<std::mutex> lock = take_aside();

	while (!given) {
		wait_begins();
		cond.wait(lock);
		wait_ends(1);
	}
}

void
let_cxx_cond(void)
{
	std::unique_lock<std::mutex> lock = take_aside();

	given = true;
	cond.notify_one();
}

void
wait_cxx_cond_for(void)
{
	std::unique_lock<std::mutex> lock = take_aside();
	std::cv_status status;

	wait_begins();
	status = cond.wait_for(lock, std::chrono::milliseconds(60));
	wait_ends(status == std::cv_status::timeout);
}
