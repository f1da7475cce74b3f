# Programs as bytes.

-- case two instructions
-- raw b7 00 00 00 2a 00 00 00
       95 00 00 00 00 00 00 00
-- result 42

-- case a two-slot load
-- raw
18 00 00 00 44 33 22 11  00 00 00 00 88 77 66 55
95 00 00 00 00 00 00 00
-- result 0x5566778811223344

-- case an unknown opcode
-- raw ff 00 00 00 00 00 00 00 b7 00 00 00 00 00 00 00 95 00 00 00 00 00 00 00
-- error unknown opcode ff
