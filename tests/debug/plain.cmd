frame 1
locals
args
print n
print vla
print sizeof(vla)
whatis vla
print first
print *list
print list->next->name
print *list->next
print first.next->value + 3
print &first
print &first.value
print copy
print copy.arr
print copy.arr[1].s
print copy.un.b
print copy.text
print &copy.text
print copy.fp
print *copy.fp
print copy.in
print copy.anon
print copy.ub
print b
print *b
print b->list
print flex->data
print *flex
print flex->data[1]
print *flex->data@3
print c
print odd
print fl2
print no_mode
print uc
print ch
print ull
print f
print ld
print big
print ubig
print cf
print cd
print cb
print *cb
print vp
print pp
print **pp
print *pp
print ip
print null_text
print repeats
print few
print parr
print *parr
print parr[1][2]
print matrix
print matrix[1]
print &matrix[1]
print &matrix
print esc
print bad
print *badnode
print badnode->value
print *badtext
print badtext
print inf
print nan
print wide
print in_static
print self
print file_static
print global_int
print &global_int
print global_text
print global_array
print zeros
print longtext
print &longtext
print table
print table[3]
print gbits
print gbits.a
print gbits.c
print tls_int
print &gbits
print RED
print BLUE
print (enum color)5
print (enum color)6
print/x few
print/x copy.in
print/d c
print/x l
print/o us
print/t uc
print/c few
print/x ratio
print/a cb
print/x copy
print/d uc
print/u sc
print/c 65
print/x -1
print/z sh
print/f 3
print/s copy.text
print/x copy.text
print/d yes
print 1 + 2
print 5 / 2
print 5 / 2.0
print 5 % 3
print 1 == 1
print -5 / 2
print 7u - 8
print 1 << 31
print 1L << 40
print ~0
print !5
print 'a'
print "abc"
print sizeof(int)
print sizeof(struct node)
print sizeof first
print (char)97
print (short)100000
print (unsigned char)300
print (long)ip == (long)&global_int
print ip + 1
print &matrix[1][1] - &matrix[0][0]
print names
print *names
print names[1]
print *names@2
print names[0][1]
print *ip@2
print (double)5 / 3
print (float)1/3
print 0x10
print 010
print 1.5e3
print 1.5f
print 3 > 2 && 2 > 1
print 3 > 2 ? 10 : 20
print first.value == 1 || second.value
print nosuch
print first.nosuch
print *n
print first + 1
print twice
print &twice
print *twice
print stop_here
print main
print *b.list
print b.x
print $pc
print $sp
print $rip
print $rax
print $eflags
print $nosuch
print sizeof(nosuch)
whatis n
whatis vla[0]
whatis first
whatis list
whatis *list
whatis copy
whatis b
whatis cb
whatis *cb
whatis copy.fp
whatis matrix
whatis &matrix
whatis parr
whatis global_text
whatis names
whatis uc
whatis ull
whatis big
whatis cf
whatis yes
whatis vi
whatis ci
whatis cp
whatis c
whatis fl
whatis un
whatis stop_here
whatis twice
whatis main
whatis copy.in
whatis copy.arr
whatis struct node
whatis big_t
whatis ulong_t
whatis callback
whatis 1
whatis 1L
whatis 1u
whatis 1.0
whatis 1.0f
whatis 'a'
whatis "abc"
whatis 1 + 1L
whatis 1 == 1
whatis (char)1
whatis (char *)0
whatis sizeof(int)
whatis &n
whatis ip - 1
whatis ip - ip
whatis copy.text
whatis gbits.a
whatis uc + 1
whatis unsigned long
whatis int (*)(char)
whatis char *
whatis file_static
whatis wide
whatis tls_int
ptype struct node
ptype big_t
ptype first
ptype enum color
ptype enum flags
ptype struct bits
ptype union u
ptype list
ptype callback
ptype twice
ptype ulong_t
ptype struct flex
x/4xw &matrix
x/2xg &global_array
x/8xb &matrix
x/3dw &matrix
x/2s global_text
x/s copy.text
x/3i main
x/2f global_array
x/4c copy.text
x/2a $sp
x/4xh &matrix
x/2tw &matrix
x/3ub &matrix
x/2ow &matrix
x/2xw 0x10
print printf
print &printf
print environ
print &environ
print (long)environ != 0
whatis environ
whatis printf
frame 2
locals
args
print b
print names
print $pc
print $sp
print $rbp
frame 0
args
print *stdout
print stdout
print *str@4
whatis stdout
ptype FILE
print errno
regs
frame 1
regs
