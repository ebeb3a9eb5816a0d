/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for people: fixed pairs in both forms; every name of the libraries at
 * hand in the long form as c++filt has it; names made to do harm.
 *
 * mission: M6 M12
 */
#include "base.h"
#include "symbol.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static const struct {
	const char *linkage, *longer, *shorter;
} pairs[] = {
	{ "main", "main", "main" },
	{ "", "", "" },
	{ "_Z3fooi", "foo(int)", "foo" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)",
	  "std::vector<int, std::allocator<int> >::push_back" },
	{ "_ZNK3Foo3barEv", "Foo::bar() const", "Foo::bar" },
	{ "_Z3fooi.constprop.0", "foo(int) [clone .constprop.0]",
	  "foo [clone .constprop.0]" },
	{ "_Z3fooi.isra.0.cold", "foo(int) [clone .isra.0] [clone .cold]",
	  "foo [clone .isra.0] [clone .cold]" },
	{ "_Z3fooi._omp_fn.1", "foo(int) [clone ._omp_fn.1]",
	  "foo [clone ._omp_fn.1]" },
	{ "foo.constprop.0", "foo [clone .constprop.0]",
	  "foo [clone .constprop.0]" },
	{ "foo.isra.0.part.2.cold",
	  "foo [clone .isra.0] [clone .part.2] [clone .cold]",
	  "foo [clone .isra.0] [clone .part.2] [clone .cold]" },
	{ "foo.lto_priv.0", "foo [clone .lto_priv.0]",
	  "foo [clone .lto_priv.0]" },
	{ "foo.arch_haswell.0", "foo [clone .arch_haswell.0]",
	  "foo [clone .arch_haswell.0]" },
	{ "foo.bar", "foo.bar", "foo.bar" },
	{ "a.b.cold", "a.b [clone .cold]", "a.b [clone .cold]" },
	{ ".cold", ".cold", ".cold" },
	{ "foo.", "foo.", "foo." },
	{ "foo..cold", "foo. [clone .cold]", "foo. [clone .cold]" },
	{ "main._omp_fn.0", "main._omp_fn.0", "main._omp_fn.0" },
	{ "memcpy [resolver]", "memcpy [resolver]", "memcpy [resolver]" },
	{ "_Z3foov [resolver]", "foo() [resolver]", "foo [resolver]" },
	{ "<static>@0x12ab", "<static>@0x12ab", "<static>@0x12ab" },
	{ "@plt", "@plt", "@plt" },
	{ "_GLOBAL__sub_I_a.cc", "_GLOBAL__sub_I_a.cc", "_GLOBAL__sub_I_a.cc" },
	{ "_ZN4a..b17h0123456789abcdefE.llvm.12", NULL,
	  "a::b [clone .llvm.12]" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
	  "core::fmt::Formatter::pad::h0123456789abcdef",
	  "core::fmt::Formatter::pad" },
	{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$"
	  "Test$GT$$GT$3bar17h930b740aa94f1d3aE",
	  "<Test + 'static as foo::Bar<Test>>::bar::h930b740aa94f1d3a",
	  "<Test + 'static as foo::Bar<Test>>::bar" },
	{ "_RNvNtCs1234_7mycrate3foo3bar", NULL, "mycrate::foo::bar" },
	{ "_RNvMs0_NtCs5l0EXMQXRMU_21rustc_data_structures17obligation_forest"
	  "INtB5_16ObligationForestNtNtNtCsdozMG8X9FIu_21rustc_trait_selection"
	  "6traits7fulfill26PendingPredicateObligationE22register_obligation_at"
	  "B1v_", NULL, "<rustc_data_structures::obligation_forest::"
	  "ObligationForest<rustc_trait_selection::traits::fulfill::"
	  "PendingPredicateObligation>>::register_obligation_at" },
	/* the examples of the book of rustc on its scheme v0 */
	{ "_RNvCskwGfYPst2Cb_3foo16example_function",
	  "foo[ef17931c9e9b4641]::example_function",
	  "foo::example_function" },
	{ "_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo", NULL,
	  "<mycrate::Example>::foo" },
	{ "_RNvXCs15kBYyAo9fc_7mycrateNtB2_7ExampleNtB2_5Trait3foo", NULL,
	  "<mycrate::Example as mycrate::Trait>::foo" },
	{ "_RNvYNtCs15kBYyAo9fc_7mycrate7ExampleNtB4_5Trait3foo", NULL,
	  "<mycrate::Example as mycrate::Trait>::foo" },
	{ "_RNCNvCsgStHSCytQ6I_7mycrate4main0B3_", NULL,
	  "mycrate::main::{closure#0}" },
	{ "_RINvCsgStHSCytQ6I_7mycrate7examplelE", NULL,
	  "mycrate::example::<i32>" },
	{ "_RINvCs7QNBtHUyZGx_7mycrate7exampleAtj8_E", NULL,
	  "mycrate::example::<[u16; 8]>" },
	{ "_RINvCsgStHSCytQ6I_7mycrate7exampleKj1_E", NULL,
	  "mycrate::example::<1>" },
	{ "_RNvCsdBezzDwma51_7mycrateu8gdel_5qa", NULL,
	  "mycrate::g\303\266del" },
	{ "inlined [inlined]", "inlined [inlined]", "inlined [inlined]" },
	{ "_Z3fooi [inlined]", "foo(int) [inlined]", "foo [inlined]" },
	{ "_Znot_a_name", "_Znot_a_name", "_Znot_a_name" },
	{ "_R", "_R", "_R" },
	{ "_Z", "_Z", "_Z" },
	{ "esc\033[2Jape\n", "esc?[2Jape?", "esc?[2Jape?" },
};

static void
expect(const char *linkage, enum name_form form, const char *truth)
{
	char *text = name_display(linkage, form);

	if (strcmp(text, truth) != 0) {
		printf("wrong: %s\n  is  %s\n  not %s\n", linkage, text,
		       truth);
		failures++;
	}
	free(text);
}

static void
fixed_pairs(void)
{
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (pairs[i].longer)
			expect(pairs[i].linkage, NAME_LONG, pairs[i].longer);
		expect(pairs[i].linkage, NAME_SHORT, pairs[i].shorter);
		if (!strchr(pairs[i].linkage, '\n'))
			expect(pairs[i].linkage, NAME_MANGLED,
			       pairs[i].linkage);
	}
	expect("a\tb", NAME_MANGLED, "a?b");
}

/* Compare with c++filt over all mangled names that some file defines. */
static size_t
like_cxxfilt(const char *table, const char *file)
{
	char *command = xasprintf("cd \"$SCRATCH\" &&"
				  " nm %s --defined-only -j %s 2>/dev/null |"
				  " sed 's/@.*//' | grep -E '^(_Z|_R)' >n;"
				  " c++filt <n | paste n -", table, file);
	size_t n = 0, cap = 0;
	char *line = NULL;
	FILE *in = popen(command, "r");

	free(command);
	if (!in)
		return 0;
	while (getline(&line, &cap, in) > 0) {
		char *end = strchr(line, '\n'), *truth = strchr(line, '\t');

		if (!end || !truth)
			continue;
		*end = '\0';
		*truth++ = '\0';
		expect(line, NAME_LONG, truth);
		n++;
	}
	free(line);
	(void)pclose(in);	/* an empty result is judged by the caller */
	return n;
}

static void
all_of_libraries(void)
{
	static const char *const files[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
		"/usr/lib64/libstdc++.so.6", "/usr/bin/node",
	};
	size_t n = 0, there = 0;

	if (system("command -v c++filt nm >/dev/null") != 0) {
		printf("no c++filt: not compared\n");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (access(files[i], R_OK) == 0) {
			there++;
			n += like_cxxfilt("-D", files[i]);
		}
	printf("%zu names of %zu files compared with c++filt\n", n, there);
	if (there > 0 && n < 1000)
		failures++;
}

/* What rustc makes of a program: some of each kind of name. */
static void
all_of_rust(void)
{
	static const char make[] =
		"cd \"$SCRATCH\" && command -v rustc c++filt >/dev/null &&"
		" echo 'use std::collections::HashMap; mod m { pub struct"
		" S<T>(pub T); impl<T: Copy + std::ops::Add<Output = T>> S<T>"
		" { #[inline(never)] pub fn go(&self, n: T) -> T { let c ="
		" |x: T| x + self.0; c(n) } } } fn main() { let mut h ="
		" HashMap::new(); h.insert(m::S(3).go(4), \"x\");"
		" println!(\"{:?}\", h); }' >r.rs && rustc r.rs 2>/dev/null";

	if (system(make) != 0) {
		printf("no rustc: not compared\n");
		return;
	}

	const size_t n = like_cxxfilt("", "r");

	printf("%zu names of Rust compared with c++filt\n", n);
	if (n < 300)
		failures++;
}

/* A hundred bytes that stand for 2^35: each type is a pair of the last. */
static char *
doubling_cxx(void)
{
	struct str s = {0};

	str_add(&s, "_Z1f1AIiiE");
	for (int i = 0; i < 35; i++) {
		const char id = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		str_addf(&s, "S_IS%c_S%c_E", id, id);
	}
	return str_take(&s);
}

/* The same in Rust's scheme: tuples of two references back. */
static char *
doubling_rust(void)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct str s = {0};

	str_add(&s, "_RINvC1c1f");

	size_t last = s.len - 2;

	str_add(&s, "TiiE");
	for (int i = 0; i < 40; i++) {
		const size_t here = s.len - 2;
		char ref[8];

		/* base 62, minus one, ended by _ */
		if (last == 0)
			snprintf(ref, sizeof ref, "B_");
		else if (last - 1 < 62)
			snprintf(ref, sizeof ref, "B%c_", digits[last - 1]);
		else
			snprintf(ref, sizeof ref, "B%c%c_",
				 digits[(last - 1) / 62],
				 digits[(last - 1) % 62]);
		str_addf(&s, "T%s%sE", ref, ref);
		last = here;
	}
	str_add(&s, "E");
	return str_take(&s);
}

static char *
repeated(const char *head, const char *unit, int n, const char *tail)
{
	struct str s = {0};

	str_add(&s, head);
	for (int i = 0; i < n; i++)
		str_add(&s, unit);
	str_add(&s, tail);
	return str_take(&s);
}

/* Whatever it is, an answer comes, of a size that can be printed. */
static void
survive(char *name)
{
	for (int form = NAME_LONG; form <= NAME_MANGLED; form++) {
		char *text = name_display(name, (enum name_form)form);

		if (strlen(text) > 1 << 17) {
			printf("wrong: %.40s... became %zu bytes\n", name,
			       strlen(text));
			failures++;
		}
		free(text);
	}
	free(name);
}

static void
noise(unsigned seed)
{
	static const char letters[] = "_ZRNSTIEKPFv0123456789.abij$LGTuCBMXYD";
	char name[80];

	for (int round = 0; round < 20000; round++) {
		const size_t n = 2 + (size_t)rand_r(&seed) % 70;

		for (size_t i = 0; i < n; i++)
			name[i] = letters[(size_t)rand_r(&seed) %
					  (sizeof letters - 1)];
		name[0] = '_';
		name[1] = round % 2 ? 'Z' : 'R';
		name[n] = '\0';
		survive(xstrdup(name));
	}
}

static void
harmful_names(void)
{
	(void)alarm(60);	/* a demangler that never ends fails here */
	survive(doubling_cxx());
	survive(doubling_rust());
	survive(repeated("_Z1f", "P", 100000, "i"));
	survive(repeated("_Z1f", "P", 500, "i"));
	survive(repeated("_Z", "N", 100000, ""));
	survive(repeated("_Z1fI", "J", 1000, ""));
	survive(repeated("_RNv", "Nt", 100000, ""));
	survive(repeated("_RI", "INv", 500, "C1a1b"));
	survive(repeated("x", ".cold", 100000, ""));
	survive(repeated("x", ".", 100000, ""));
	survive(repeated("_Z1fv", ".1", 2000, ""));
	survive(repeated("", "a", 1000000, ""));
	survive(xstrdup("_Z999999999999999999999999foo"));
	survive(xstrdup("_RNvC99999999999999999999foo"));
	survive(xstrdup("_Z1fDv4294967295_i"));
	noise(1);
	(void)alarm(0);
}

int
main(void)
{
	char scratch[] = "/tmp/symbol-names.XXXXXX";

	if (!mkdtemp(scratch) || setenv("SCRATCH", scratch, 1) < 0) {
		perror("scratch directory");
		return 99;
	}
	fixed_pairs();
	harmful_names();
	all_of_libraries();
	all_of_rust();
	if (system("rm -rf \"$SCRATCH\"") != 0)
		printf("%s was left behind\n", scratch);
	return failures ? 1 : 0;
}
