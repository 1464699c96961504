module example.trommel.dev/stand-in

go 1.24
