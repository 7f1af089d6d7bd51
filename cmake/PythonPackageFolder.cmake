# python_package_folder(<package> <variable>): the folder of a package of the Python interpreter in use, or "". Nothing is imported.
function(python_package_folder package variable)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.util as u; s = u.find_spec('${package}'); print(s.submodule_search_locations[0] if s else '', end='')"
    OUTPUT_VARIABLE _folder COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${_folder}" PARENT_SCOPE)
endfunction()
