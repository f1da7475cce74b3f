// SPDX-License-Identifier: BSD-2-Clause
// An exception thrown below a traced function and caught above it (unwind.c).
extern "C" {
int unwind_throw(int what);
int unwind_catch(int (*traced)(int what), int what);
}

int unwind_throw(int what)
{
	throw what;
}

int unwind_catch(int (*traced)(int what), int what)
{
	try {
		traced(what);
	} catch (int caught) {
		return caught;
	}
	return -1;
}
