frame 1
locals
args
print this
print *this
print local
print base_value
print secret
print extra
print mix
print count
print tag
print this->base_value
print this->Base::base_value
print Derived::count
print f
whatis this
whatis *this
ptype Base
ptype Mixin
frame 2
locals
args
print p
print q
print *pp
print pp->x
print &q
print s
print s.items
print b
print *b
print b->base_value
print *(Derived *)b
print ((Derived *)b)->extra
print (Derived *)b
print sh
print old
print sd
print sec
print diamond
print diamond.vb
print diamond.l
print empty
print ob
print rr
print t
print mp
print mf
print np
print c16
print s16
print v
print arr
print bref
print pref
print loc
print r
print outer::counter
print outer::inner::Point::made
print outer::inner::OldA
print outer::inner::Shape::Round
print (outer::inner::Shape)0
print hidden
print Derived::count
print &outer::counter
print &Derived::count
print &p
print p.x + 1 == 11
print 1 == 1
print p.sum
print free_fn
print main
print sizeof(Derived)
print sizeof(outer::inner::Point)
print (bool)3
print true
whatis p
whatis q
whatis pp
whatis s
whatis sd
whatis b
whatis *b
whatis sh
whatis sec
whatis rr
whatis mp
whatis mf
whatis np
whatis c16
whatis v
whatis str
whatis bref
whatis loc
whatis free_fn
whatis outer::inner::Point
whatis outer::Stack<int>
whatis outer::counter
whatis Derived::count
whatis 1 == 1
ptype outer::inner::Point
ptype sh
ptype old
ptype struct VBase
print $rip
print str
print up
frame 3
locals
print d
print s
print p
print d.f
print &d
print *&d
print d.base_value
