frame 1
locals
args
print b
print *b
print n
print copy
print list
print first
print second
print vla
whatis vla
print flex
print *flex
print fl2
print no_mode
print un
print ratio
print cd
print in_static
print $sp
print $rbx
frame 2
locals
args
print argc
print argv
