! SPDX-License-Identifier: GPL-3.0-or-later
! To be looked at by tests/debug-truth.test: arrays that are not as C's.
subroutine shown(n)
  integer :: n
  print *, n
end subroutine
program arrays
  integer :: low(-1:1), one(2), grid(2,3)
  low = (/7, 8, 9/)
  one = (/1, 2/)
  grid = reshape((/1, 2, 3, 4, 5, 6/), (/2, 3/))
  call shown(one(1))
  print *, low, grid
end program
