// HLO012 at 5:5: there is no value `%y` here
module @m {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // A value is defined before it is used.
    %0 = stablehlo.add %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
