/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * words: a C++ program as they are written, for stops in it: containers of
 * containers, a hierarchy, templates, lambdas, smart pointers, an exception.
 */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace text {

struct place {
	unsigned line, column;
	bool operator<(const place &other) const
	{
		return line != other.line ? line < other.line :
			column < other.column;
	}
};

class sink {
public:
	virtual ~sink() = default;
	virtual void put(const std::string &word, const place &at) = 0;
protected:
	unsigned long count = 0;
};

class index final : public sink {
	std::map<std::string, std::vector<place>> places;
	double load = 0.5;
	enum class state : char { empty, open, full } now = state::empty;
public:
	void put(const std::string &word, const place &at) override;
	template <typename F> unsigned each(F f, unsigned least) const;
	static int made;
	index() { made++; }
};

int index::made = 0;

void __attribute__((noinline))
index::put(const std::string &word, const place &at)
{
	auto &list = places[word];
	const bool first = list.empty();

	list.push_back(at);
	count++;
	load = first ? load + 0.25 : load * 2;
	now = count > 100 ? state::full : state::open;
}

template <typename F> unsigned __attribute__((noinline))
index::each(F f, unsigned least) const
{
	unsigned n = 0;

	for (const auto &entry : places)
		if (entry.second.size() >= least)
			n += f(entry.first, entry.second.back());
	return n;
}

int __attribute__((noinline))
split(const char *line, unsigned number, sink &to)
{
	std::string word;
	unsigned column = 0, from = 0;
	int words = 0;

	for (; ; column++) {
		if (line[column] && line[column] != ' ') {
			word += line[column];
			continue;
		}
		if (!word.empty()) {
			to.put(word, { number, from });
			words++;
		}
		word.clear();
		from = column + 1;
		if (!line[column])
			return words;
	}
}

long __attribute__((noinline))
total(const std::vector<long> &of, const std::function<long(long)> &weigh)
{
	long sum = 0;

	for (long value : of)
		sum += weigh(value);
	if (sum < 0)
		throw std::range_error("below zero");
	return sum;
}

long __attribute__((noinline))
report(long sum, const char *what, float share, unsigned char mark)
{
	std::printf("%s %ld %.2f %c\n", what, sum, share, mark);
	return sum;
}

}

int
main()
{
	static const char *const lines[] = { "to be or not to be",
		"that is the question", "to die to sleep" };
	auto all = std::make_unique<text::index>();
	std::vector<long> lengths;
	unsigned number = 1;

	for (const char *line : lines)
		lengths.push_back(text::split(line, number++, *all));

	const unsigned often = all->each([&](const std::string &word,
					     const text::place &last) {
		return word.size() + last.line;
	}, 2);
	long sum = 0;

	try {
		sum = text::total(lengths, [often](long n) {
			return n * (long)often;
		});
		lengths.push_back(-sum);
		(void)text::total(lengths, [](long n) { return n; });
	} catch (const std::exception &e) {
		sum = text::report(sum, e.what(), 0.25f, '!');
	}
	return sum == 0;
}
